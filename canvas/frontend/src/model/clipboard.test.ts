import { expect, test } from "vitest";
import { add } from "./changes";
import { copied, pasted } from "./clipboard";
import { readCanvas } from "./document";

const canvas = readCanvas({
  nodes: [
    {
      id: "clone",
      type: "activity",
      position: { x: 0, y: 0 },
      data: { label: "Clone", activity: "CloneRepoActivity" },
    },
    {
      id: "scan",
      type: "activity",
      position: { x: 10, y: 0 },
      data: {
        label: "Scan",
        config: { path: "${clone.output.path}", same: "${Clone.output.path}", other: "${else.output}" },
      },
    },
  ],
  edges: [
    { id: "e", source: "clone", target: "scan", data: { condition: "${clone.output.path} == 1" } },
    { id: "f", source: "scan", target: "gone" },
  ],
});

test("a copy pasted on the same canvas has ids, labels and references of its own", () => {
  const found = pasted(canvas, copied(canvas, new Set(["clone", "scan"])), { x: 40, y: 40 });
  expect(found?.nodes.map((node) => node.key)).toEqual(["clone-2", "scan-2"]);
  expect(found?.nodes[1]?.raw).toEqual({
    id: "scan-2",
    type: "activity",
    position: { x: 50, y: 40 },
    data: {
      label: "Scan 2",
      config: { path: "${clone-2.output.path}", same: "${clone-2.output.path}", other: "${else.output}" },
    },
  });
  expect(found?.edges.map((edge) => edge.raw)).toEqual([
    { id: "clone-2-scan-2", source: "clone-2", target: "scan-2", data: { condition: "${clone-2.output.path} == 1" } },
  ]);
  const whole = found && add(canvas, found.nodes, found.edges);
  expect(new Set(whole?.nodes.map((node) => node.key)).size).toBe(4);
});

test("on another canvas it keeps its ids", () => {
  const found = pasted(readCanvas({}), copied(canvas, new Set(["scan"])), { x: 0, y: 0 });
  expect(found?.nodes[0]?.raw).toEqual(canvas.nodes[1]?.raw);
  expect(found?.edges).toEqual([]);
});

test.each(["", "hello", "[]", "{}", '{"nodes": []}', '{"kind": "poimen/canvas", "nodes": 5}', "null"])(
  "%s is no copy",
  (text) => {
    expect(pasted(canvas, text, { x: 0, y: 0 })).toBeNull();
  },
);

test("nothing chosen copies nothing", () => {
  expect(copied(canvas, new Set())).toBe("");
});
