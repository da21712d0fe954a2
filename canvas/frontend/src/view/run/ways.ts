// Puts on the edges of the drawing which ways the run took.
import type { Edge } from "@xyflow/react";
import type { Way } from "../../model/ways";

export function withWays(edges: Edge[], ways: ReadonlyMap<string, Way>): Edge[] {
  if (!ways.size) return edges;
  return edges.map((edge) => {
    const way = ways.get(edge.id);
    return way ? { ...edge, className: `${edge.className ?? ""} ${way}` } : edge;
  });
}
