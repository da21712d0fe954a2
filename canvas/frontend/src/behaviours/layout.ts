// Places nodes by elk, which is loaded when it is first wanted and works beside the page in a worker.
import type { ELK, ElkNode } from "elkjs/lib/elk-api";
import { ROOM, settled, type Unit, wished } from "../model/arrangement";
import { move } from "../model/changes";
import type { Point } from "../model/document";
import { carried } from "../model/groups";
import { canvasNow, change, say } from "../store";

let elk: Promise<ELK> | null = null;

async function loaded(): Promise<ELK> {
  const [{ default: Elk }, { default: workerUrl }] = await Promise.all([
    import("elkjs/lib/elk-api"),
    import("elkjs/lib/elk-worker.min.js?url"),
  ]);
  return new Elk({ workerUrl });
}

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "RIGHT",
  "elk.layered.spacing.nodeNodeBetweenLayers": "72",
  "elk.spacing.nodeNode": "36",
  "elk.spacing.componentComponent": "72",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
};
const PADDING = `[top=${ROOM.top},left=${ROOM.side},bottom=${ROOM.side},right=${ROOM.side}]`;

// From left to right, all nodes or only the chosen ones; groups stay together, and what is pinned stays.
export async function arrange(chosen: ReadonlySet<string>): Promise<void> {
  const canvas = canvasNow();
  const { units, edges } = wished(canvas, chosen);
  if (!units.length) return;
  const hasGroups = units.some((unit) => unit.inside.length);
  const graph: ElkNode = {
    id: "the canvas",
    layoutOptions: hasGroups ? { ...OPTIONS, "elk.hierarchyHandling": "INCLUDE_CHILDREN" } : OPTIONS,
    children: units.map(asked),
    edges: edges.map(({ key, source, target }) => ({ id: `edge ${key}`, sources: [source], targets: [target] })),
  };
  try {
    elk ??= loaded();
    const laid = new Map<string, Point>();
    for (const { id, x = 0, y = 0, children = [] } of (await (await elk).layout(graph)).children ?? []) {
      if (!children.length) laid.set(id, { x, y });
      for (const inner of children) laid.set(inner.id, { x: x + (inner.x ?? 0), y: y + (inner.y ?? 0) });
    }
    change((now) => move(now, carried(now, settled(now, laid))));
  } catch (error) {
    elk = null;
    say(`The nodes could not be arranged: ${error instanceof Error ? error.message : error}`, true);
  }
}

function asked({ key, width, height, inside }: Unit): ElkNode {
  if (!inside.length) return { id: key, width, height };
  return { id: key, layoutOptions: { "elk.padding": PADDING }, children: inside.map(asked) };
}
