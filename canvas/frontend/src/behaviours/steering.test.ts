import { expect, test } from "vitest";
import { readAttempt } from "../model/run";
import { NO_RUN, type Run, rights } from "../run";
import { whyNotFrom } from "./steering";

const one = (state: string, path: string) => readAttempt({ id: state.charCodeAt(0), state, branch: { id: "b", path } });
const attempts = new Map([one("a", ""), one("b", "parallel/b")].map((attempt) => [attempt.id, attempt]));
const run: Run = { ...NO_RUN, execution: "x", status: "failed", attempts };

test("a run begins again where one ran at the top, once it is over, and for who may", () => {
  expect(whyNotFrom(run, "a")).toContain("operator");
  rights.mayOperate = true;
  expect(whyNotFrom(run, "a")).toBe("");
  expect(whyNotFrom({ ...run, status: "running" }, "a")).toContain("not ended");
  expect(whyNotFrom(run, "b")).toContain("in a branch");
  expect(whyNotFrom(run, "c")).toContain("did not run");
});
