// From one node to others: along the connections, and from neighbour to neighbour.
import type { Canvas } from "./document";
import { type Box, boxOf } from "./groups";

export type Way = "out" | "in" | "next" | "previous";

// The node that one comes to: "out" and "in" along the first connection by drawing order, "next" and "previous" among
// those that hang on the same node; null where that way ends.
export function step(canvas: Canvas, from: string, way: Way): string | null {
  const there = new Set(canvas.nodes.map((node) => node.key));
  const edges = canvas.edges.filter((edge) => there.has(edge.source) && there.has(edge.target));
  if (way === "out") return edges.find((edge) => edge.source === from)?.target ?? null;
  if (way === "in") return edges.find((edge) => edge.target === from)?.source ?? null;
  const parents = edges.filter((edge) => edge.target === from).map((edge) => edge.source);
  const children = edges.filter((edge) => edge.source === from).map((edge) => edge.target);
  const siblings = parents.length
    ? edges.filter((edge) => parents.includes(edge.source)).map((edge) => edge.target)
    : edges.filter((edge) => children.includes(edge.target)).map((edge) => edge.source);
  const list = sortedFromAbove(canvas, new Set(siblings));
  const at = list.indexOf(from);
  const found = at < 0 ? undefined : list[at + (way === "next" ? 1 : -1)];
  return found ?? null;
}

function sortedFromAbove(canvas: Canvas, keys: ReadonlySet<string>): string[] {
  const boxes = new Map<string, Box>();
  canvas.nodes.forEach((node, index) => {
    if (keys.has(node.key)) boxes.set(node.key, boxOf(node, index));
  });
  return [...boxes].sort(([, one], [, other]) => one.y - other.y || one.x - other.x).map(([key]) => key);
}
