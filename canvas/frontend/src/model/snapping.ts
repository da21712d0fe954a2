// Lines that a moved box comes to lie on: left edges, middles and right edges of others, and the same from above.
import type { Point } from "./document";
import type { Box } from "./groups";

export interface Line {
  at: number;
  from: number; // how far it reaches along the other axis
  to: number;
}

export interface Lines {
  x: Line[]; // upright ones
  y: Line[]; // level ones
}

export function linesOf(boxes: Iterable<Box>): Lines {
  const lines: Lines = { x: [], y: [] };
  for (const { x, y, width, height } of boxes) {
    for (const at of [x, x + width / 2, x + width]) lines.x.push({ at, from: y, to: y + height });
    for (const at of [y, y + height / 2, y + height]) lines.y.push({ at, from: x, to: x + width });
  }
  return lines;
}

export interface Snapped {
  place: Point;
  x: Line | null; // the guide to draw, as long as what it joins
  y: Line | null;
}

// The box put onto the nearest line within reach, each axis for itself; `reach` in units of the canvas.
export function snapped(box: Box, lines: Lines, reach: number): Snapped {
  const x = nearest(lines.x, [box.x, box.x + box.width / 2, box.x + box.width], reach);
  const y = nearest(lines.y, [box.y, box.y + box.height / 2, box.y + box.height], reach);
  const place = { x: box.x + (x?.shift ?? 0), y: box.y + (y?.shift ?? 0) };
  return {
    place,
    x: x && { at: x.at, from: Math.min(x.from, place.y), to: Math.max(x.to, place.y + box.height) },
    y: y && { at: y.at, from: Math.min(y.from, place.x), to: Math.max(y.to, place.x + box.width) },
  };
}

interface Hit extends Line {
  shift: number;
}

// Of equally near lines at one place the guide is as long as all of them.
function nearest(lines: Line[], own: number[], reach: number): Hit | null {
  const hits = lines.flatMap((line) =>
    own.map((at): Hit => ({ ...line, shift: line.at - at })).filter((hit) => Math.abs(hit.shift) <= reach),
  );
  const [first, ...rest] = hits.sort((one, other) => Math.abs(one.shift) - Math.abs(other.shift));
  if (!first) return null;
  const same = [first, ...rest.filter((hit) => hit.shift === first.shift && hit.at === first.at)];
  return {
    ...first,
    from: Math.min(...same.map((hit) => hit.from)),
    to: Math.max(...same.map((hit) => hit.to)),
  };
}
