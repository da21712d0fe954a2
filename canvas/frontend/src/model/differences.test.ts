import { expect, test } from "vitest";
import { differences, spoken, summary } from "./differences";
import { isSame, readCanvas } from "./document";

const before = readCanvas({
  name: "one",
  nodes: [
    { id: "a", data: { label: "A", config: { path: "x", same: 1 } } },
    { id: "b", position: { x: 0, y: 0 } },
  ],
  edges: [{ id: "e", source: "a", target: "b" }],
});

test("added, removed, moved and changed are told, with what was and what is in each field", () => {
  const after = readCanvas({
    name: "two",
    nodes: [
      { id: "a", data: { config: { same: 1, path: "y", more: [1] }, label: "A" } },
      { id: "b", position: { x: 8, y: 0 } },
      { id: "c" },
    ],
    edges: [{ id: "f", source: "a", target: "c" }],
  });
  const field = (path: string, was?: unknown, is?: unknown) => ({ path: path.split("."), before: was, after: is });
  const list = differences(before, after);
  expect(list).toEqual([
    { what: "workflow", how: "changed", key: "", name: "two", fields: [field("name", "one", "two")] },
    {
      what: "node",
      how: "changed",
      key: "a",
      name: "A",
      fields: [field("data.config.path", "x", "y"), field("data.config.more", undefined, [1])],
    },
    { what: "node", how: "moved", key: "b", name: "b", fields: [field("position.x", 0, 8)] },
    { what: "node", how: "added", key: "c", name: "c", fields: [] },
    { what: "edge", how: "added", key: "f", name: "A → c", fields: [] },
    { what: "edge", how: "removed", key: "e", name: "A → b", fields: [] },
  ]);
  expect(summary(list)).toBe("2 added, 1 removed, 2 changed, 1 moved");
});

test("the order of keys is no difference", () => {
  const same = readCanvas({
    name: "one",
    nodes: [
      { data: { config: { same: 1, path: "x" }, label: "A" }, id: "a" },
      { position: { y: 0, x: 0 }, id: "b" },
    ],
    edges: [{ target: "b", source: "a", id: "e" }],
  });
  expect(differences(before, same)).toEqual([]);
  expect(isSame(before, same)).toBe(true);
});

test("elements that are no objects are a difference of the workflow", () => {
  const odd = readCanvas({ name: "n", nodes: [7] });
  const [one] = differences(readCanvas({ name: "n" }), odd);
  expect(one).toMatchObject({ what: "workflow", fields: [{ path: ["nodes"], before: [], after: [7] }] });
});

test("what is shown of a value is cut, and no secret", () => {
  const handle = "secret:00000000-0000-0000-0000-000000000000";
  expect(spoken(["data", "config", "apiKey"], "abc")).toBe('"***"');
  expect(spoken(["data", "config"], { headers: { Authorization: ["Bearer abc"] }, n: 1 })).toBe(
    '{"headers":{"Authorization":["***"]},"n":1}',
  );
  expect(spoken(["url"], "https://ann:abc@example.org/")).toBe('"https://ann:***@example.org/"');
  expect(spoken(["password"], handle)).toBe(`"${handle}"`);
  expect(spoken(["token"], "${workflow.input.token}")).toBe('"${workflow.input.token}"');
  expect(spoken(["value"], undefined)).toBe("not there");
  expect(spoken(["value"], "x".repeat(500))).toBe(`"${"x".repeat(159)}… (502 characters)`);
});
