import { expect, test } from "vitest";
import { readCanvas } from "./document";
import type { Fate } from "./run";
import { waysOf, withSilent } from "./ways";

const fate = (status: string): Fate => ({
  status,
  attempt: 1,
  count: 1,
  ended: 1,
  failed: 0,
  milliseconds: 1,
  isReused: false,
});
const ran = (states: Record<string, string>) =>
  new Map(Object.entries(states).map(([key, status]) => [key, fate(status)]));

function drawn(...ways: string[]) {
  const edges = ways.map((text) => {
    const [source = "", target = "", condition = ""] = text.split(" ");
    return { id: `${source}${target}`, source, target, data: condition ? { condition } : {} };
  });
  const names = [...new Set(edges.flatMap((edge) => [edge.source, edge.target]))];
  const nodes = names.map((id) => ({
    id,
    type: id === "start" || id === "end" ? id : "activity",
    data: { activity: "X" },
  }));
  return readCanvas({ nodes, edges });
}

test("a condition that does not hold skips its target and what only that leads to", () => {
  const canvas = drawn("start a", "a b x=1", "b d", "a c else", "c end");
  const nodes = withSilent(canvas, ran({ a: "success", c: "success" }), false);
  expect([nodes.get("b")?.status, nodes.get("d")?.status]).toEqual(["skipped", "skipped"]);
  expect(Object.fromEntries(waysOf(canvas, nodes, true))).toEqual({
    starta: "taken",
    ab: "skipped",
    bd: "skipped",
    ac: "taken",
    cend: "taken",
  });
});

test("what is behind a failure did not run, and no condition is blamed for it", () => {
  const canvas = drawn("a b", "b c");
  expect(withSilent(canvas, ran({ a: "failed" }), false).has("b")).toBe(false);
  const nodes = withSilent(canvas, ran({ a: "failed" }), true);
  expect([nodes.get("b")?.status, nodes.get("c")?.status]).toEqual(["not run", "not run"]);
  expect([...waysOf(canvas, nodes, true)]).toEqual([]);
});

test("what waits for something that still runs is not called skipped", () => {
  const canvas = drawn("a b x=1", "a c");
  expect([...withSilent(canvas, ran({ a: "running" }), false).keys()]).toEqual(["a"]);
});

test("where two conditional ways meet, the one beside tells which was taken", () => {
  const canvas = drawn("a b x=1", "a c else", "b c x=2");
  const through = waysOf(canvas, ran({ a: "success", b: "success", c: "success" }), true);
  expect([through.get("ab"), through.get("ac")]).toEqual(["taken", "skipped"]);
  const nodes = withSilent(canvas, ran({ a: "success", c: "success" }), true);
  expect(Object.fromEntries(waysOf(canvas, nodes, true))).toEqual({ ab: "skipped", ac: "taken", bc: "skipped" });
});

test("a failure that leads somewhere takes that way, and success the other", () => {
  const canvas = drawn("a ok", "a mend", "mend end", "ok end");
  const [, second] = canvas.edges;
  if (second) second.raw.data = { on_error: ["*"] };
  const failed = withSilent(canvas, ran({ a: "failed", mend: "success" }), true);
  expect(failed.get("ok")?.status).toBe("skipped");
  const ways = waysOf(canvas, failed, true);
  expect(Object.fromEntries(ways)).toEqual({ aok: "skipped", amend: "taken", mendend: "taken", okend: "skipped" });
  const well = withSilent(canvas, ran({ a: "success", ok: "success" }), true);
  expect(Object.fromEntries(waysOf(canvas, well, true))).toMatchObject({ aok: "taken", amend: "skipped" });
});
