// Lines things up: on one edge or middle of all of them, or with equal gaps between.
import type { Point } from "./document";
import type { Box } from "./groups";

export type Edge = "left" | "centre" | "right" | "top" | "middle" | "bottom";

// The new places of these boxes, by key. Edges are those of the outermost box, middles those of the whole.
export function aligned(boxes: ReadonlyMap<string, Box>, edge: Edge): Map<string, Point> {
  const all = [...boxes.values()];
  const [left, top] = [Math.min(...all.map((box) => box.x)), Math.min(...all.map((box) => box.y))];
  const right = Math.max(...all.map((box) => box.x + box.width));
  const bottom = Math.max(...all.map((box) => box.y + box.height));
  const place = (box: Box): Point => {
    switch (edge) {
      case "left":
        return { x: left, y: box.y };
      case "centre":
        return { x: (left + right - box.width) / 2, y: box.y };
      case "right":
        return { x: right - box.width, y: box.y };
      case "top":
        return { x: box.x, y: top };
      case "middle":
        return { x: box.x, y: (top + bottom - box.height) / 2 };
      case "bottom":
        return { x: box.x, y: bottom - box.height };
    }
  };
  return new Map([...boxes].map(([key, box]) => [key, place(box)]));
}

// The outermost two stay where they are, and the gaps between neighbours become equal (negative where they overlap).
export function distributed(boxes: ReadonlyMap<string, Box>, along: "x" | "y"): Map<string, Point> {
  const size = along === "x" ? "width" : "height";
  const sorted = [...boxes].sort(([, one], [, other]) => one[along] - other[along]);
  const [first, last] = [sorted[0]?.[1], sorted.at(-1)?.[1]];
  if (!first || !last || sorted.length < 3) return new Map();
  const taken = sorted.reduce((sum, [, box]) => sum + box[size], 0);
  const gap = (last[along] + last[size] - first[along] - taken) / (sorted.length - 1);
  let at = first[along];
  return new Map(
    sorted.map(([key, box]) => {
      const place = along === "x" ? { x: at, y: box.y } : { x: box.x, y: at };
      at += box[size] + gap;
      return [key, place];
    }),
  );
}
