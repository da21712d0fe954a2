import { describe, expect, it } from "vitest";
import { move } from "../model/changes";
import { type Canvas, readCanvas } from "../model/document";
import { collapse, group, hidden } from "../model/groups";
import type { Json } from "../model/json";
import { flowEdges, flowNodes } from "./flow";

const NONE = new Set<string>();
const drawnNodes = (canvas: Canvas) => flowNodes(canvas, NONE, true);
const drawnEdges = (canvas: Canvas) =>
  flowEdges(canvas.edges, new Set(canvas.nodes.map((node) => node.key)), hidden(canvas), NONE, new Map());

describe("what React Flow is given", () => {
  it("has a place for every node and a node for every edge, whatever was sent", () => {
    const odd: Json[] = [
      7,
      {},
      { id: "a", position: { x: "left", y: null } },
      { id: "a", position: { x: 1e308, y: -1e308 } },
      { id: 5, type: "note", width: "wide", height: -3, data: 7 },
      { id: "g", type: "group", data: [] },
      { id: "b", type: "toString", position: [1, 2], data: { label: { a: 1 }, group: "nowhere" } },
      { id: "__proto__", type: "activity", data: { activity: "constructor" } },
    ];
    const edges: Json[] = [
      { source: "a", target: "gone" },
      { source: 5, target: null },
      { id: "x", source: "g", target: "a", data: { condition: 7, relation_type: [] } },
      "no edge",
    ];
    const canvas = readCanvas({ nodes: odd, edges });
    const nodes = drawnNodes(canvas);
    expect(canvas.odd.nodes).toEqual([7]);
    expect(new Set(nodes.map((node) => node.id)).size).toBe(nodes.length);
    const figures = nodes.flatMap(({ position, width, height }) => [position.x, position.y, width ?? 0, height ?? 0]);
    expect(figures.every((figure) => Number.isFinite(figure) && Math.abs(figure) <= 1e6)).toBe(true);
    const there = new Set(nodes.map((node) => node.id));
    expect(drawnEdges(canvas).every((edge) => there.has(edge.source) && there.has(edge.target))).toBe(true);
  });

  it("is the same object as long as nothing about the node changed", () => {
    const canvas = readCanvas({
      nodes: [
        { id: "a", position: { x: 0, y: 0 } },
        { id: "b", position: { x: 300, y: 0 } },
        { id: "c", position: { x: 600, y: 0 } },
      ],
      edges: [],
    });
    const grouped = group(canvas, new Set(["a", "b"]), "Two").canvas;
    const before = drawnNodes(grouped);
    const after = drawnNodes(move(grouped, new Map([["c", { x: 700, y: 0 }]])));
    expect(after.map((node, index) => node === before[index])).toEqual([true, true, true, false]);
    const inside = drawnNodes(move(grouped, new Map([["a", { x: -40, y: 0 }]])));
    expect(inside.map((node, index) => node === before[index])).toEqual([false, false, true, true]);
  });

  it("is one node with one line to each neighbour where a group is collapsed", () => {
    const canvas = readCanvas({
      nodes: ["a", "b", "c", "d"].map((id, x) => ({ id, position: { x: x * 300, y: 0 } })),
      edges: [
        { id: "1", source: "a", target: "b" },
        { id: "2", source: "a", target: "c" },
        { id: "3", source: "b", target: "c" },
        { id: "4", source: "c", target: "d", data: { condition: "x > 1" } },
      ],
    });
    const closed = collapse(group(canvas, new Set(["b", "c"]), "Two").canvas, "group", true);
    expect(drawnNodes(closed).map((node) => node.id)).toEqual(["group", "a", "d"]);
    expect(drawnEdges(closed).map((edge) => [edge.source, edge.target, edge.label, edge.selectable])).toEqual([
      ["a", "group", "2 connections", false],
      ["group", "d", "x > 1", undefined],
    ]);
  });
});
