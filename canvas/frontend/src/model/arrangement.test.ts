import { describe, expect, it } from "vitest";
import { settled, wished } from "./arrangement";
import { readCanvas } from "./document";
import { collapse, group } from "./groups";

const node = (id: string, x: number, y: number, data = {}, type = "activity") => ({
  id,
  type,
  position: { x, y },
  data,
});
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });
const canvas = readCanvas({
  nodes: [node("a", 100, 50), node("b", 500, 0), node("c", 90, 300), node("n", 500, 80, {}, "note")],
  edges: [edge("a", "b"), edge("b", "c"), edge("b", "b"), edge("a", "gone")],
});
const laid = new Map([
  ["a", { x: 12, y: 12 }],
  ["b", { x: 316, y: 12 }],
  ["c", { x: 620, y: 12 }],
]);

describe("arranging", () => {
  it("asks for the steps and the edges between two of them, and nothing about notes", () => {
    const wish = wished(canvas, new Set());
    expect(wish.units.map((unit) => unit.key)).toEqual(["a", "b", "c"]);
    expect(wish.edges.map((one) => one.key)).toEqual(["a-b", "b-c"]);
    expect(wished(canvas, new Set(["b", "c"])).units.map((unit) => unit.key)).toEqual(["b", "c"]);
  });

  it("asks for an open group as a whole with its members, and for a collapsed one as one node", () => {
    const open = group(canvas, new Set(["b", "c", "n"]), "Two").canvas;
    expect(wished(open, new Set()).units.map((unit) => [unit.key, unit.inside.map((one) => one.key)])).toEqual([
      ["group", ["b", "c"]],
      ["a", []],
    ]);
    const closed = wished(collapse(open, "group", true), new Set());
    expect(closed.units.map((unit) => unit.key)).toEqual(["group", "a"]);
    expect(closed.edges.map(({ source, target }) => [source, target])).toEqual([["a", "group"]]);
  });

  it("begins where it began, and takes notes along with what they lie beside", () => {
    const places = settled(canvas, laid);
    expect(places.get("a")).toEqual({ x: 92, y: 0 });
    expect(places.get("b")).toEqual({ x: 396, y: 0 });
    expect(places.get("n")).toEqual({ x: 396, y: 80 });
  });

  it("leaves what is pinned and puts nothing on it", () => {
    const pinned = readCanvas({
      nodes: [node("a", 100, 50), node("b", 500, 0, { pinned: true }), node("c", 500, 400, { pinned: true })],
    });
    const places = settled(
      pinned,
      new Map([
        ["a", { x: 20, y: 10 }],
        ["b", { x: 0, y: 0 }],
        ["c", { x: 300, y: 0 }],
      ]),
    );
    expect([...places]).toEqual([["a", { x: 520, y: 104 }]]);
  });
});
