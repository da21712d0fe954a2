import { describe, expect, it } from "vitest";
import { aligned, distributed } from "./align";
import { readCanvas } from "./document";
import { linesOf, snapped } from "./snapping";
import { step } from "./walk";

const box = (x: number, y: number, width = 100, height = 50) => ({ x, y, width, height });
const boxes = new Map([
  ["a", box(0, 0)],
  ["b", box(250, 40, 60)],
  ["c", box(400, 200)],
]);
const xs = (places: Map<string, { x: number }>) => [...places.values()].map((place) => place.x);
const ys = (places: Map<string, { y: number }>) => [...places.values()].map((place) => place.y);

describe("lining up", () => {
  it("puts edges and middles onto one line and leaves the other axis", () => {
    expect(xs(aligned(boxes, "left"))).toEqual([0, 0, 0]);
    expect(xs(aligned(boxes, "right"))).toEqual([400, 440, 400]);
    expect(xs(aligned(boxes, "centre"))).toEqual([200, 220, 200]);
    expect(ys(aligned(boxes, "left"))).toEqual([0, 40, 200]);
    expect([ys(aligned(boxes, "top")), ys(aligned(boxes, "bottom")), ys(aligned(boxes, "middle"))]).toEqual([
      [0, 0, 0],
      [200, 200, 200],
      [100, 100, 100],
    ]);
  });

  it("makes gaps equal between the outermost", () => {
    expect(xs(distributed(boxes, "x"))).toEqual([0, 220, 400]);
    expect(ys(distributed(boxes, "y"))).toEqual([0, 100, 200]);
    expect(distributed(new Map([...boxes].slice(0, 2)), "x").size).toBe(0);
  });
});

describe("a dragged box", () => {
  const lines = linesOf([box(0, 0), box(0, 300)]);
  it("snaps to a line within reach, and the guide joins all that lie on it", () => {
    const found = snapped(box(4, 150), lines, 6);
    expect(found.place).toEqual({ x: 0, y: 150 });
    expect(found.x).toEqual({ at: 0, from: 0, to: 350 });
    expect(found.y).toBeNull();
  });

  it("stays where nothing is in reach", () => {
    expect(snapped(box(27, 151, 90, 20), lines, 2)).toEqual({ place: { x: 27, y: 151 }, x: null, y: null });
  });
});

describe("walking", () => {
  const node = (id: string, y: number) => ({ id, type: "activity", position: { x: 0, y } });
  const edge = (source: string, target: string) => ({ id: `${source}${target}`, source, target });
  const canvas = readCanvas({
    nodes: [node("a", 0), node("low", 200), node("high", 0), node("end", 0)],
    edges: [edge("a", "low"), edge("a", "high"), edge("low", "end"), edge("high", "end"), edge("end", "gone")],
  });
  it("goes along connections and between those that hang on one node, from above", () => {
    expect([step(canvas, "a", "out"), step(canvas, "end", "in"), step(canvas, "end", "out")]).toEqual([
      "low",
      "low",
      null,
    ]);
    expect([step(canvas, "high", "next"), step(canvas, "low", "previous")]).toEqual(["low", "high"]);
    expect([step(canvas, "low", "next"), step(canvas, "a", "in"), step(canvas, "a", "next")]).toEqual([
      null,
      null,
      null,
    ]);
  });
});
