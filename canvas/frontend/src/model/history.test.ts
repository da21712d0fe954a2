import { expect, test } from "vitest";
import { begin, close, MOST, record, redo, undo } from "./history";

test("what is taken back can be made again, until something else is done", () => {
  let history = record(record(begin("a"), "b"), "c");
  history = undo(undo(history));
  expect(history.present).toBe("a");
  expect(undo(history)).toBe(history);
  expect(redo(redo(history)).present).toBe("c");
  history = record(redo(history), "d");
  expect(history.past).toEqual(["a", "b"]);
  expect(redo(history)).toBe(history);
});

test("typing is one step until the group is closed", () => {
  let history = begin("");
  for (const text of ["h", "he", "hel"]) history = record(history, text, "label");
  history = record(close(history), "help", "label");
  history = undo(history);
  expect(history.present).toBe("hel");
  expect(undo(history).present).toBe("");
});

test("another group, and no group, are steps of their own", () => {
  let history = record(begin(0), 1, "one");
  history = record(record(history, 2, "two"), 3);
  history = record(history, 4);
  expect(history.past).toEqual([0, 1, 2, 3]);
});

test("nothing changed is no step, and the oldest are forgotten", () => {
  const start = begin(0);
  expect(record(start, 0)).toBe(start);
  let history = start;
  for (let step = 1; step <= MOST + 5; step += 1) history = record(history, step);
  expect(history.past).toHaveLength(MOST);
});
