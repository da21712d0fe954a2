import { expect, test } from "vitest";
import { differences } from "./differences";
import { isSame, readCanvas } from "./document";

const before = readCanvas({
  name: "one",
  nodes: [{ id: "a", data: { label: "A", config: { path: "x", same: 1 } } }, { id: "b" }],
  edges: [{ id: "e", source: "a", target: "b" }],
});

test("added, removed and changed are told, with the fields that changed", () => {
  const after = readCanvas({
    name: "two",
    nodes: [{ id: "a", data: { config: { same: 1, path: "y" }, label: "A" } }, { id: "c" }],
    edges: [],
  });
  expect(differences(before, after)).toEqual([
    { what: "workflow", how: "changed", name: "two", fields: ["name"] },
    { what: "node", how: "changed", name: "A", fields: ["data.config.path"] },
    { what: "node", how: "added", name: "c", fields: [] },
    { what: "node", how: "removed", name: "b", fields: [] },
    { what: "connection", how: "removed", name: "a → b", fields: [] },
  ]);
});

test("the order of keys is no difference", () => {
  const same = readCanvas({
    name: "one",
    nodes: [{ data: { config: { same: 1, path: "x" }, label: "A" }, id: "a" }, { id: "b" }],
    edges: [{ target: "b", source: "a", id: "e" }],
  });
  expect(differences(before, same)).toEqual([]);
  expect(isSame(before, same)).toBe(true);
});
