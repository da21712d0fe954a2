import { expect, test } from "vitest";
import { itemsOf, readAttempt, readStanding } from "./run";
import { moved, rowsOf, spanOf, ticks, zoomed } from "./timeline";

const OPTIONS = {
  named: (state: string) => state,
  waits: (activity: string) => activity === "ApproveWorkflowActivity",
  opened: new Set<string>(),
  hidden: () => false,
};

function drawn(ended: object[], standing: object[] = [], now = 1000, options: object = {}) {
  const list = ended.map((one, index) =>
    readAttempt({ id: index + 1, status: "success", branch: { id: "b", name: "root" }, ...one }),
  );
  const attempts = new Map(list.map((one) => [one.id, one]));
  const places = standing.map((one) => readStanding({ branch: { id: "b", name: "root" }, ...one }));
  const items = itemsOf(list, places, now);
  return { items, rows: rowsOf(items, attempts, places, now, { ...OPTIONS, ...options }) };
}

test("attempts are bars, and the time between them is waiting", () => {
  const { rows } = drawn([
    { state: "a", attempt: 1, status: "failed", startedMs: 0, durationMs: 100 },
    { state: "a", attempt: 2, startedMs: 300, durationMs: 50 },
  ]);
  expect(rows[0]?.bars().map(({ from, to, isWaiting }) => [from, to, isWaiting])).toEqual([
    [0, 100, false],
    [100, 300, true],
    [300, 350, false],
  ]);
});

test("what stands now lasts until now, and who waits for people does not work", () => {
  const { rows } = drawn(
    [{ state: "ask", activity: "ApproveWorkflowActivity", startedMs: 0, durationMs: 400 }],
    [{ state: "b", status: "running", sinceMs: 400 }],
  );
  expect(rows.map((row) => [row.state, row.bars()[0]?.isWaiting, row.bars()[0]?.to])).toEqual([
    ["ask", true, 400],
    ["b", false, 1000],
  ]);
});

test("what was reused took its time in another run and stretches nothing here", () => {
  const { items, rows } = drawn([
    { state: "old", startedMs: 0, durationMs: 500, reused: true },
    { state: "new", startedMs: 90_000, durationMs: 100 },
  ]);
  expect(spanOf(items, 100_000)).toEqual({ from: 90_000, to: 90_100 });
  expect(rows.map((row) => [row.state, row.isReused])).toEqual([
    ["old", true],
    ["new", false],
  ]);
  expect(rows[0]?.bars()).toMatchObject([{ from: 90_000, to: 90_000, title: "reused from an earlier run" }]);
});

test("a thousand items are one row of few bars, and a row each when it is opened", () => {
  const ended = Array.from({ length: 1000 }, (_, index) => ({
    state: "One",
    startedMs: index * 2,
    durationMs: 10,
    status: index === 500 ? "failed" : "success",
    branch: { id: `i${index}`, index, path: "Each/*" },
  }));
  const { rows } = drawn(ended);
  expect(rows.length).toBe(1);
  expect(rows[0]).toMatchObject({ count: 1000, failed: 1, status: "failed" });
  expect(rows[0]?.bars().length).toBe(2);
  expect(rows[0]?.bars().at(-1)?.status).toBe("failed");
  expect(drawn(ended, [], 1000, { opened: new Set(["One"]) }).rows.length).toBe(1001);
});

test("the view is zoomed about a moment, moved, and never leaves the whole", () => {
  const whole = { from: 0, to: 1000 };
  expect(zoomed(whole, whole, 0.5, 500)).toEqual({ from: 250, to: 750 });
  expect(zoomed({ from: 250, to: 750 }, whole, 10, 500)).toEqual(whole);
  expect(moved({ from: 250, to: 750 }, whole, 900)).toEqual({ from: 500, to: 1000 });
  expect(ticks(whole, 0, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(spanOf(new Map(), 7)).toEqual({ from: 7, to: 8 });
});
