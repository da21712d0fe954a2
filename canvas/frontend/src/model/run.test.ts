import { expect, test } from "vitest";
import { fateOf, filesIn, itemsOf, readAttempt, readStanding } from "./run";

function attempt(state: string, status: string, more: object = {}) {
  const { branch = "b", index, ...rest } = { branch: "b", index: undefined, ...more };
  const place =
    index === undefined ? { id: branch, name: "root", path: "" } : { id: branch, name: "", path: "Each/*", index };
  return readAttempt({
    id: 1,
    state,
    status,
    visit: 1,
    attempt: 1,
    startedMs: 0,
    durationMs: 10,
    branch: place,
    ...rest,
  });
}

function fates(attempts: ReturnType<typeof attempt>[], standing: object[] = [], now = 0) {
  const items = itemsOf(
    attempts,
    standing.map((one) => readStanding({ branch: { id: "b", name: "root" }, ...one })),
    now,
  );
  return new Map([...items].map(([state, list]) => [state, fateOf(list)]));
}

test("attempts of one visit are one item whose times add up", () => {
  const ended = [
    attempt("a", "failed", { durationMs: 100 }),
    attempt("a", "success", { id: 2, attempt: 2, durationMs: 50 }),
  ];
  expect(fates(ended).get("a")).toEqual({
    status: "success",
    attempt: 2,
    count: 1,
    ended: 1,
    failed: 0,
    milliseconds: 150,
    isReused: false,
  });
});

test("what runs now comes over what ended, and the newest visit of a branch over the ones before", () => {
  const ended = [attempt("a", "failed"), attempt("a", "success", { id: 2, visit: 2, startedMs: 50 })];
  expect(fates(ended).get("a")).toMatchObject({ status: "success", count: 2, failed: 1 });
  const running = [{ state: "a", status: "running", visit: 3, attempt: 1, sinceMs: 5000 }];
  expect(fates(ended, running, 7000).get("a")).toMatchObject({ status: "running", count: 3, ended: 2 });
});

test("of many items one failure shows, and they last from the first beginning to the last end", () => {
  const items = [0, 1, 2].map((index) =>
    attempt("One", index === 1 ? "failed" : "success", {
      id: index,
      branch: `i${index}`,
      index,
      startedMs: index * 20,
    }),
  );
  expect(fates(items).get("One")).toEqual({
    status: "failed",
    attempt: 1,
    count: 3,
    ended: 3,
    failed: 1,
    milliseconds: 50,
    isReused: false,
  });
  const [first] = itemsOf(items, [], 0).get("One") ?? [];
  expect(first?.name).toBe("#1");
});

test("what was taken over from an earlier run is told as that, until some of it runs here", () => {
  const kept = attempt("a", "success", { reused: true });
  expect(fates([kept]).get("a")).toMatchObject({ status: "success", isReused: true });
  const again = attempt("a", "success", { id: 2, branch: "other" });
  expect(fates([kept, again]).get("a")).toMatchObject({ count: 2, isReused: false });
  expect(fates([kept], [{ state: "a", status: "running", visit: 1, attempt: 2 }]).get("a")?.isReused).toBe(false);
});

test("a report that an output names can be fetched, a text that only looks like a path is none", () => {
  const id = "01a22c3b-53ef-764f-b6ea-e9b23dff7a92";
  const output = { report: "/artifacts/x", reportPath: `/home/artifacts/${id}/sub/my report.html`, size: 3 };
  expect(filesIn(output)).toEqual([
    { name: "sub/my report.html", href: `/executions/${id}/artifacts/sub/my%20report.html` },
  ]);
  expect(filesIn(null)).toEqual([]);
});
