import { expect, test } from "vitest";
import { readCanvas } from "./document";
import { applyPatch, type Change, PatchRefused } from "./patch";

const drawn = readCanvas({
  name: "drawn",
  nodes: [
    { id: "a", type: "echo", data: { "x/y": 1 } },
    { id: "b", type: "echo" },
  ],
  edges: [
    { id: "1", source: "a", target: "b" },
    { id: "2", source: "b", target: "b" },
  ],
});

test("an edge is removed, and everything else keeps its identity", () => {
  const mended = applyPatch(drawn, [
    { op: "test", path: "/edges/1/source", value: "b" },
    { op: "remove", path: "/edges/1" },
  ]);
  expect(mended.edges).toEqual([drawn.edges[0]]);
  expect(mended.edges[0]).toBe(drawn.edges[0]);
  expect(mended.nodes[0]).toBe(drawn.nodes[0]);
  expect(mended.name).toBe("drawn");
  expect(drawn.edges).toHaveLength(2);
});

test("nodes and edges are added, keys set and renamed, with keys of the canvas that follow", () => {
  const mended = applyPatch(drawn, [
    { op: "add", path: "/nodes/-", value: { id: "c", type: "start" } },
    { op: "replace", path: "/nodes/0/id", value: "z" },
    { op: "add", path: "/nodes/0/data/x~1y", value: [2] },
    { op: "add", path: "/edges/-", value: { id: "3", source: "c", target: "z" } },
    { op: "remove", path: "/nodes/0/data/x~1y" },
  ]);
  expect(mended.nodes.map((node) => node.key)).toEqual(["z", "b", "c"]);
  expect(mended.nodes[0]?.raw.data).toEqual({});
  expect(mended.nodes[1]).toBe(drawn.nodes[1]);
  expect(mended.edges[2]).toMatchObject({ key: "3", source: "c", target: "z" });
});

test.each<Change[][]>([
  [[{ op: "test", path: "/nodes/0/id", value: "b" }]],
  [[{ op: "remove", path: "/nodes/9" }]],
  [[{ op: "replace", path: "/nodes/0/data/gone", value: 1 }]],
  [[{ op: "add", path: "/nodes/0/data/gone/deeper", value: 1 }]],
  [[{ op: "move", path: "/nodes/0/id" }]],
  [[{ op: "remove", path: "nodes" }]],
  [[{ op: "remove", path: "/nodes/-" }]],
])("a patch for another canvas is refused as a whole: %j", (changes) => {
  expect(() => applyPatch(drawn, [{ op: "add", path: "/nodes/-", value: { id: "c" } }, ...changes])).toThrow(
    PatchRefused,
  );
  expect(drawn.nodes).toHaveLength(2);
});
