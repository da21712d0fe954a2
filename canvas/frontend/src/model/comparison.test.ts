import { expect, test } from "vitest";
import { comparison } from "./comparison";
import { differences } from "./differences";
import { readCanvas } from "./document";

test("what is gone is drawn where it was, behind what is there", () => {
  const before = readCanvas({
    nodes: [{ id: "a", position: { x: 4, y: 8 } }, { id: "b" }, { id: "c", position: { x: 1, y: 1 } }],
    edges: [
      { id: "1", source: "a", target: "b" },
      { id: "2", source: "b", target: "c" },
    ],
  });
  const after = readCanvas({
    nodes: [{ id: "c", position: { x: 2, y: 1 } }, { id: "d" }],
    edges: [{ id: "3", source: "c", target: "d" }],
  });
  const found = comparison(before, after, differences(before, after));
  expect(found.canvas.nodes.map((node) => node.key)).toEqual(["c", "d", "a", "b"]);
  expect(found.places.get("b")).toEqual({ x: 0, y: 120 }); // its place in the list it was in
  expect(found.places.get("c")).toEqual({ x: 2, y: 1 });
  expect([...found.nodes]).toEqual([
    ["c", "moved"],
    ["d", "added"],
    ["a", "removed"],
    ["b", "removed"],
  ]);
  expect([...found.edges]).toEqual([
    ["3", "added"],
    ["1", "removed"],
    ["2", "removed"],
  ]);
});

test("members of a collapsed group are shown", () => {
  const after = readCanvas({ nodes: [{ id: "g", type: "group", data: { label: "G", collapsed: true } }] });
  expect(comparison(null, after, []).canvas.nodes[0]?.raw.data).toEqual({ label: "G" });
});
