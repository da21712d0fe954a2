// Places nodes by elk, which is loaded when it is first wanted and works beside the page in a worker.
import type { ELK, ElkNode } from "elkjs/lib/elk-api";
import { move } from "../model/changes";
import { type Point, placeOf, sizeOf } from "../model/document";
import { canvasNow, change, say } from "../store";

let elk: Promise<ELK> | null = null;

async function loaded(): Promise<ELK> {
  const [{ default: Elk }, { default: workerUrl }] = await Promise.all([
    import("elkjs/lib/elk-api"),
    import("elkjs/lib/elk-worker.min.js?url"),
  ]);
  return new Elk({ workerUrl });
}

// From left to right, all nodes or only the chosen ones; those stay where the first of them was.
export async function arrange(chosen: ReadonlySet<string>): Promise<void> {
  const canvas = canvasNow();
  const nodes = canvas.nodes.filter((node) => chosen.size < 2 || chosen.has(node.key));
  if (!nodes.length) return;
  const there = new Set(nodes.map((node) => node.key));
  const graph: ElkNode = {
    id: "canvas",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": "72",
      "elk.spacing.nodeNode": "36",
      "elk.spacing.componentComponent": "72",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
    },
    children: nodes.map((node) => ({ id: node.key, ...sizeOf(node) })),
    edges: canvas.edges
      .filter((edge) => there.has(edge.source) && there.has(edge.target) && edge.source !== edge.target)
      .map((edge) => ({ id: edge.key, sources: [edge.source], targets: [edge.target] })),
  };
  try {
    elk ??= loaded();
    const placed = (await (await elk).layout(graph)).children ?? [];
    const left = Math.min(...nodes.map((node, index) => placeOf(node, index).x));
    const top = Math.min(...nodes.map((node, index) => placeOf(node, index).y));
    const places = new Map<string, Point>();
    for (const { id, x = 0, y = 0 } of placed)
      places.set(id, { x: Math.round((left + x) / 4) * 4, y: Math.round((top + y) / 4) * 4 });
    change((now) => move(now, places));
  } catch (error) {
    elk = null;
    say(`The nodes could not be arranged: ${error instanceof Error ? error.message : error}`, true);
  }
}
