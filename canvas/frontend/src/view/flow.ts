// From the canvas to what React Flow draws. What did not change keeps its identity, so that it is not drawn again.
import { type Edge, MarkerType, type Node, Position } from "@xyflow/react";
import {
  type Canvas,
  type CanvasEdge,
  type CanvasNode,
  kindOf,
  type Point,
  placeOf,
  SIZE,
  sizeOf,
} from "../model/document";
import { objectOr, textOr } from "../model/json";
import type { Marks } from "../model/problems";
import type { MissingFlowNode, StepFlowNode } from "./StepNode";

const MISSING = "missing node ";
const drawnNodes = new WeakMap<CanvasNode, StepFlowNode[]>();
const HANDLE = 10;

export function flowNodes(canvas: Canvas, chosen: ReadonlySet<string>, mayEdit: boolean): Node[] {
  const nodes: Node[] = canvas.nodes.map((node, index) => {
    const isChosen = chosen.has(node.key);
    const slot = (isChosen ? 1 : 0) + (mayEdit ? 2 : 0);
    const kept = drawnNodes.get(node) ?? [];
    drawnNodes.set(node, kept);
    const ready = kept[slot];
    if (ready && (node.raw.position !== undefined || ready.position.y === placeOf(node, index).y)) return ready;
    const made = stepNode(node, index, isChosen, mayEdit);
    kept[slot] = made;
    return made;
  });
  return [...nodes, ...missingNodes(canvas)];
}

function stepNode(node: CanvasNode, index: number, selected: boolean, draggable: boolean): StepFlowNode {
  const size = sizeOf(node);
  const kind = kindOf(node);
  const handle = (type: "source" | "target") => ({
    type,
    position: type === "target" ? Position.Left : Position.Right,
    x: type === "target" ? -HANDLE / 2 - 1 : size.width - HANDLE, // arrows end before the dot, not under it
    y: (size.height - HANDLE) / 2,
    width: HANDLE,
    height: HANDLE,
  });
  const handles =
    kind === "start" ? [handle("source")] : kind === "end" ? [handle("target")] : [handle("target"), handle("source")];
  return {
    id: node.key,
    type: "step",
    position: placeOf(node, index),
    data: { node },
    selected,
    draggable,
    ...size,
    measured: size,
    handles,
  };
}

function missingNodes(canvas: Canvas): MissingFlowNode[] {
  const there = new Map(canvas.nodes.map((node, index) => [node.key, placeOf(node, index)]));
  const found = new Map<string, Point>();
  canvas.edges.forEach((edge, index) => {
    const [from, to] = [there.get(edge.source), there.get(edge.target)];
    const spare = { x: -SIZE.width - 80, y: index * 20 };
    if (!from)
      found.set(edge.source, found.get(edge.source) ?? (to ? { x: to.x - SIZE.width - 80, y: to.y - 40 } : spare));
    if (!to)
      found.set(
        edge.target,
        found.get(edge.target) ?? (from ? { x: from.x + SIZE.width + 80, y: from.y + 40 } : spare),
      );
  });
  return [...found].map(([id, position]) => ({
    id: MISSING + id,
    type: "missing",
    position,
    data: { id },
    selectable: false,
    draggable: false,
    ...SIZE,
    measured: SIZE,
  }));
}

// `there`: the keys of all nodes.
export function flowEdges(
  edges: CanvasEdge[],
  there: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
  marks: Marks,
): Edge[] {
  return edges.map((edge) => {
    const problems = marks.get(edge.key);
    const severity = problems && (problems.some((one) => one.severity === "error") ? "error" : "warning");
    return flowEdge(edge, there, chosen.has(edge.key), severity);
  });
}

function flowEdge(edge: CanvasEdge, there: ReadonlySet<string>, selected: boolean, severity: string | undefined): Edge {
  const data = { ...edge.raw, ...objectOr(edge.raw.data) };
  const condition = textOr(data.condition);
  const isDangling = !there.has(edge.source) || !there.has(edge.target);
  const label = condition || textOr(data.relation_label) || textOr(data.label);
  const kinds = [
    condition && "conditional",
    data.relation_type === "dependency" && "dependency",
    isDangling && "dangling",
  ];
  const drawn: Edge = {
    id: edge.key,
    source: there.has(edge.source) ? edge.source : MISSING + edge.source,
    target: there.has(edge.target) ? edge.target : MISSING + edge.target,
    selected,
    className: [...kinds, severity && `marked ${severity}`].filter(Boolean).join(" "),
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
  };
  if (label) drawn.label = label.length > 48 ? `${label.slice(0, 47)}…` : label;
  return drawn;
}
