import { expect, test } from "vitest";
import type { JsonObject } from "./json";
import { inWords } from "./versionWords";

const item = (what: string, how: string, name: string, ...fields: string[]): JsonObject => ({
  what,
  how,
  name,
  fields,
});

test("what a version changed is said in words", () => {
  const items = [
    item("workflow", "changed", "w", "name", "status"),
    item("node", "added", "Clone"),
    item("node", "added", "Scan"),
    item("node", "changed", "Say", "data.config.value", "data.label"),
    item("node", "moved", "End"),
    item("edge", "added", "a → b"),
    item("edge", "added", "b → c"),
  ];
  expect(inWords({ total: 7, items })).toBe(
    "added Clone and Scan; changed Say (value, label); changed the name and status; moved End; added 2 connections",
  );
});

test("much is counted, nothing and what was not kept are told apart", () => {
  const items = Array.from({ length: 50 }, (_, index) => item("node", "removed", `n${index}`));
  expect(inWords({ total: 1050, items })).toBe("removed n0, n1, n2 and 47 more; and 1,000 more changes");
  expect(inWords({ total: 0, items: [] })).toBe("nothing changed");
  expect(inWords(null)).toBe("");
});
