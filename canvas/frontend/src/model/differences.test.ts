import { expect, test } from "vitest";
import { differences } from "./differences";
import { isSame, readCanvas } from "./document";
import { fatesOf } from "./run";

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

test("how nodes fare: attempts add up, what runs now comes over what ended, and the rest did not run", () => {
  const ended = [
    { state: "a", status: "failed", attempt: 1, durationMs: 100 },
    { state: "a", status: "success", attempt: 2, durationMs: 50 },
    { state: "b", status: "success", attempt: 1, durationMs: 10 },
  ];
  const running = [{ state: "b", status: "running", attempt: 1, since: new Date(5000).toISOString() }];
  const live = fatesOf(ended, running, false, ["a", "b", "c"], 7000);
  expect(live.get("a")).toEqual({ status: "success", attempt: 2, count: 1, milliseconds: 150 });
  expect(live.get("b")).toEqual({ status: "running", attempt: 1, count: 1, milliseconds: 2000 });
  expect(live.has("c")).toBe(false);
  const over = fatesOf(ended, running, true, ["a", "b", "c"], 7000);
  expect(over.get("b")?.status).toBe("success");
  expect(over.get("c")?.status).toBe("not run");
});
