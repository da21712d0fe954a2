import { expect, test } from "vitest";
import { type Canvas, isSame, readCanvas } from "./document";
import type { JsonObject } from "./json";
import { merge, type Side } from "./merge";

const NONE: ReadonlyMap<string, Side> = new Map();

function node(id: string, config: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { id, type: "activity", position: { x: 0, y: 0 }, data: { label: id, config }, ...more };
}

function drawn(nodes: JsonObject[], edges: string[] = [], more: JsonObject = {}): Canvas {
  const pairs = edges.map((edge) => edge.split(" "));
  const lines = pairs.map(([source = "", target = ""]) => ({ id: `${source}-${target}`, source, target }));
  return readCanvas({ name: "w", nodes, edges: lines, ...more });
}

const base = drawn([node("a", { x: 1, y: 1 }), node("b"), node("c")], ["a b", "b c"]);

// Any canvas near `from`, the same for the same seed: nodes and edges come, go, move and change, the head as well.
function altered(from: Canvas, seed: number): Canvas {
  let state = seed;
  const next = (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  const nodes = from.nodes
    .filter(() => next(5) > 0)
    .map(({ raw }): JsonObject => {
      const deed = next(4);
      if (deed === 0) return { ...raw, data: { ...(raw.data as JsonObject), config: { x: next(3), z: [next(2)] } } };
      return deed === 1 ? { ...raw, position: { x: next(9), y: next(9) } } : raw;
    });
  for (let count = next(3); count > 0; count -= 1)
    nodes.splice(next(nodes.length + 1), 0, node(`n${next(4)}`, { x: next(2) }));
  const ids = nodes.map((one) => String(one.id));
  const edges = from.edges.filter((edge) => next(5) > 0 && ids.includes(edge.source) && ids.includes(edge.target));
  const more = Array.from({ length: next(3) }, () => ({
    id: `e${next(5)}`,
    source: ids[next(ids.length)] ?? "a",
    target: ids[next(ids.length)] ?? "b",
  }));
  const name = next(3) ? from.name : `w${next(3)}`;
  return readCanvas({ name, description: from.description, nodes, edges: [...edges.map((one) => one.raw), ...more] });
}

const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1);

test("what only one of the two changed is as that one has it, in its order", () => {
  for (const seed of SEEDS) {
    const x = altered(base, seed);
    for (const found of [merge(base, base, x, NONE), merge(base, x, base, NONE), merge(base, x, x, NONE)]) {
      expect(found.clashes, `seed ${seed}`).toEqual([]);
      expect(isSame(found.canvas, x), `seed ${seed}`).toBe(true);
    }
  }
});

test("whatever the two made of it, once every clash is chosen the merge is one canvas, and choosing one side leaves no trace of the other's clashes", () => {
  for (const seed of SEEDS) {
    const [mine, theirs] = [altered(base, seed), altered(base, seed + 1000)];
    const { clashes } = merge(base, mine, theirs, NONE);
    for (const side of ["mine", "theirs"] as const) {
      const chosen = new Map(clashes.map((clash): [string, Side] => [clash.id, side]));
      const found = merge(base, mine, theirs, chosen);
      expect(new Set(found.clashes.map((clash) => clash.id)), `seed ${seed}`).toEqual(new Set(chosen.keys()));
      const keys = found.canvas.nodes.map((one) => one.key);
      expect(new Set(keys).size).toBe(keys.length);
      const there = new Set(keys);
      for (const edge of found.canvas.edges) {
        const wasDangling = (canvas: Canvas) =>
          canvas.edges.some((one) => one.key === edge.key) && canvas.nodes.every((one) => one.key !== edge.source);
        expect(there.has(edge.source) || wasDangling(mine) || wasDangling(theirs), `seed ${seed}`).toBe(true);
      }
    }
  }
});

test("it makes no difference who of the two is whom, but for the side that stands until one is chosen", () => {
  for (const seed of SEEDS) {
    const [one, other] = [altered(base, seed), altered(base, seed + 5000)];
    const [there, back] = [merge(base, one, other, NONE), merge(base, other, one, NONE)];
    expect(back.clashes.map((clash) => clash.id).sort()).toEqual(there.clashes.map((clash) => clash.id).sort());
  }
});

test("two who change different fields of one node both have their way", () => {
  const mine = drawn([node("a", { x: 2, y: 1 }), node("b"), node("c")], ["a b", "b c"]);
  const theirs = drawn([node("a", { x: 1, y: 2, z: 3 }), node("b"), node("c")], ["a b", "b c"], { description: "d" });
  const { canvas, clashes } = merge(base, mine, theirs, NONE);
  expect(clashes).toEqual([]);
  expect(
    isSame(
      canvas,
      drawn([node("a", { x: 2, y: 2, z: 3 }), node("b"), node("c")], ["a b", "b c"], { description: "d" }),
    ),
  ).toBe(true);
});

test("what did not change keeps its identity", () => {
  const mine = {
    ...base,
    nodes: base.nodes.map((one) => (one.key === "a" ? { ...one, raw: node("a", { x: 9 }) } : one)),
  };
  const { canvas } = merge(base, mine, base, NONE);
  expect(canvas.nodes[0]).toBe(mine.nodes[0]);
  expect(canvas.nodes[1]).toBe(base.nodes[1]);
  expect(canvas.edges[0]).toBe(base.edges[0]);
});

test("the same field changed by both is a clash, chosen one by one", () => {
  const mine = drawn([node("a", { x: 2, y: 2 }), node("b"), node("c")], ["a b", "b c"]);
  const theirs = drawn([node("a", { x: 3, y: 3 }), node("b"), node("c")], ["a b", "b c"]);
  const { clashes, canvas } = merge(base, mine, theirs, NONE);
  expect(clashes.map((one) => [one.name, one.path.join("."), one.base, one.mine, one.theirs])).toEqual([
    ["a", "data.config.x", 1, 2, 3],
    ["a", "data.config.y", 1, 2, 3],
  ]);
  expect(isSame(canvas, mine)).toBe(true);
  const chosen = new Map<string, Side>([[clashes[1]?.id ?? "", "theirs"]]);
  const wanted = drawn([node("a", { x: 2, y: 3 }), node("b"), node("c")], ["a b", "b c"]);
  expect(isSame(merge(base, mine, theirs, chosen).canvas, wanted)).toBe(true);
});

test("removed by one and changed by the other is a clash about the node as a whole; moved is none", () => {
  const removed = drawn([node("b"), node("c")], ["b c"]);
  const changed = drawn([node("a", { x: 7 }), node("b"), node("c")], ["a b", "b c"]);
  const { clashes } = merge(base, removed, changed, NONE);
  expect(clashes.map((one) => [one.what, one.key, one.path])).toEqual([["node", "a", []]]);
  const back = merge(base, removed, changed, new Map([[clashes[0]?.id ?? "", "theirs"]]));
  expect(isSame(back.canvas, changed)).toBe(true); // the connection comes back with it
  const moved = drawn([node("a", { x: 1, y: 1 }, { position: { x: 5, y: 5 } }), node("b"), node("c")], ["a b", "b c"]);
  expect(isSame(merge(base, moved, removed, NONE).canvas, removed)).toBe(true);
});

test("a node that one removed and the other connected anew is a clash, and the connection goes or stays with it", () => {
  const removed = drawn([node("a", { x: 1, y: 1 }), node("b")], ["a b"]);
  const connected = drawn([node("a", { x: 1, y: 1 }), node("b"), node("c")], ["a b", "b c", "a c"]);
  const { clashes, canvas } = merge(base, connected, removed, NONE);
  expect(clashes.map((one) => [one.what, one.key, one.path])).toEqual([["node", "c", []]]);
  expect(isSame(canvas, connected)).toBe(true);
  const gone = merge(base, connected, removed, new Map([[clashes[0]?.id ?? "", "theirs"]]));
  expect(isSame(gone.canvas, removed)).toBe(true);
});

test("two new steps that got one id are two steps, and references to mine follow it", () => {
  const mine = drawn(
    [...base.nodes.map((one) => one.raw), node("echo", { value: "mine" }), node("d", { v: "${echo.output.value}" })],
    ["a b", "b c", "c echo", "echo d"],
  );
  const theirs = drawn(
    [...base.nodes.map((one) => one.raw), node("echo", { value: "theirs" })],
    ["a b", "b c", "c echo"],
  );
  const { canvas, clashes, renamed } = merge(base, mine, theirs, NONE);
  expect(clashes).toEqual([]);
  expect(renamed).toEqual([{ from: "echo", to: "echo-2" }]);
  expect(canvas.nodes.map((one) => one.key)).toEqual(["a", "b", "c", "echo-2", "d", "echo"]);
  expect(canvas.nodes[4]?.raw.data).toEqual({ label: "d", config: { v: "${echo-2.output.value}" } });
  expect(canvas.edges.map((one) => [one.key, one.source, one.target])).toEqual([
    ["a-b", "a", "b"],
    ["b-c", "b", "c"],
    ["c-echo-2", "c", "echo-2"],
    ["echo-d", "echo-2", "d"],
    ["c-echo", "c", "echo"],
  ]);
});

test("both moved a node: where mine stands, without a question", () => {
  const at = (x: number) =>
    drawn([node("a", { x: 1, y: 1 }, { position: { x, y: 0 } }), node("b"), node("c")], ["a b", "b c"]);
  const { canvas, clashes } = merge(base, at(10), at(20), NONE);
  expect(clashes).toEqual([]);
  expect(canvas.nodes[0]?.raw.position).toEqual({ x: 10, y: 0 });
});
