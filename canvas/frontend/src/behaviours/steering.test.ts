import { expect, test } from "vitest";
import { itemsOf, readAttempt } from "../model/run";
import { NO_RUN, type Run, rights } from "../run";
import { whyNotFrom } from "./steering";

const one = (state: string, path: string) => readAttempt({ id: state.charCodeAt(0), state, branch: { id: "b", path } });
const attempts = new Map(
  [one("a", ""), one("b", "parallel/b"), one("i", "Each/*"), one("k", "parallel/k")].map((attempt) => [
    attempt.id,
    attempt,
  ]),
);
const items = itemsOf(attempts.values(), [], 0);
const beginnings = new Set(["a", "b", "w"]);
const run: Run = { ...NO_RUN, execution: "x", status: "failed", attempts, items, beginnings };

test("a run begins again where the server says, once it is over, and for who may", () => {
  expect(whyNotFrom(run, "a")).toContain("operator");
  rights.mayOperate = true;
  expect(whyNotFrom(run, "a")).toBe("");
  expect(whyNotFrom({ ...run, status: "running" }, "a")).toContain("not ended");
  expect(whyNotFrom({ ...run, beginnings: null }, "a")).toContain("not yet said");
  expect(whyNotFrom(run, "b")).toBe("");
  expect(whyNotFrom(run, "w")).toBe(""); // it was stopped while it waited, which leaves no attempt
  expect(whyNotFrom(run, "i")).toContain("at the map");
  expect(whyNotFrom(run, "k")).toContain("no longer there");
  expect(whyNotFrom(run, "c")).toContain("did not run");
});
