import { expect, test } from "vitest";
import { readCanvas } from "./document";
import { foundDrafts, type Left } from "./leftDrafts";

const saved = readCanvas({ name: "saved", nodes: [{ id: "a" }] });

function left(name: string, minute: number, more: Partial<Left> = {}): Left {
  const at = new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
  return { key: name, version: 1, at, revision: "", canvas: { name, nodes: [{ id: "a" }] }, ...more };
}

const names = (here: Left[], there: Left | null) => foundDrafts(saved, here, there).map((one) => one.canvas.name);

test("the newest of what is here and there comes last, and the other one before it", () => {
  const there = left("there", 5, { key: "", revision: "r" });
  expect(names([left("here", 1)], there)).toEqual(["here", "there"]);
  expect(names([left("here", 9)], there)).toEqual(["there", "here"]);
  expect(foundDrafts(saved, [], there).map((one) => one.from)).toEqual(["server"]);
});

test("a draft here that goes on from the server's is newer, whatever the clocks say", () => {
  const there = left("there", 5, { key: "", revision: "r" });
  expect(names([left("here", 1, { revision: "r" })], there)).toEqual(["here"]);
});

test("what was saved, and what says the same twice, is no draft", () => {
  expect(names([left("saved", 1)], left("saved", 2))).toEqual([]);
  expect(names([left("one", 1), left("one", 2, { key: "other tab" })], null)).toEqual(["one"]);
  expect(names([], null)).toEqual([]);
});
