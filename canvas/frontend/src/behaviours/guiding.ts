// While one thing is dragged: the lines of the others, and which of them it lies on.
import { createStore } from "zustand/vanilla";
import type { Point } from "../model/document";
import { type Box, boxOf, frames, hidden, membersOf } from "../model/groups";
import { type Line, type Lines, linesOf, snapped } from "../model/snapping";
import { canvasNow } from "../store";

const REACH = 6; // pixels of the screen
const MOST = 400; // others; among more of them every place is on some line

export const guides = createStore<{ x: Line | null; y: Line | null }>(() => ({ x: null, y: null }));
let others: { key: string; lines: Lines; box: Box } | null = null;

export function beginGuiding(key: string): void {
  const canvas = canvasNow();
  const [boxes, within] = [frames(canvas), hidden(canvas)];
  const own = new Set((membersOf(canvas).get(key) ?? []).map((node) => node.key));
  const shown: Box[] = [];
  let box: Box | null = null;
  canvas.nodes.forEach((node, index) => {
    if (within.has(node.key) || own.has(node.key)) return;
    const at = boxes.get(node.key) ?? boxOf(node, index);
    if (node.key === key) box = at;
    else shown.push(at);
  });
  others = box && shown.length <= MOST ? { key, box, lines: linesOf(shown) } : null;
}

// Where the dragged thing comes to lie when it is let go here.
export function guided(key: string, place: Point, zoom: number): Point {
  if (others?.key !== key) return place;
  const found = snapped({ ...others.box, ...place }, others.lines, REACH / zoom);
  guides.setState({ x: found.x, y: found.y });
  return found.place;
}

export function endGuiding(): void {
  others = null;
  guides.setState({ x: null, y: null });
}
