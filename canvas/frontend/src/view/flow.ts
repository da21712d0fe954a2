// From the canvas to what React Flow draws. What did not change keeps its identity, so that it is not drawn again.
import { type Edge, MarkerType, type Node, type NodeHandle, Position } from "@xyflow/react";
import {
  type Canvas,
  type CanvasEdge,
  type CanvasNode,
  kindOf,
  labelOf,
  type Point,
  placeOf,
  SIZE,
  sizeOf,
} from "../model/document";
import { errorsOf, spokenErrors } from "../model/errors";
import { type Box, bundled, frames, hidden, isCollapsed, membersOf } from "../model/groups";
import { objectOr, textOr } from "../model/json";
import type { Marks } from "../model/problems";
import type { GroupFlowNode } from "./GroupNode";
import type { NoteFlowNode } from "./NoteNode";
import type { MissingFlowNode, StepFlowNode } from "./StepNode";

const MISSING = "missing node ";
const drawnNodes = new WeakMap<CanvasNode, Node[]>();
const HANDLE = 10;
const LIFTED = { zIndex: "var(--lift, 0)" }; // what the pointer rests on lies above its neighbours
// Frames lie below the connections, notes between them and the nodes.
const BELOW = { group: -2, note: -1 };

export function flowNodes(canvas: Canvas, chosen: ReadonlySet<string>, mayEdit: boolean): Node[] {
  const members = membersOf(canvas);
  const boxes = frames(canvas);
  const within = hidden(canvas);
  const nodes: Node[] = [];
  canvas.nodes.forEach((node, index) => {
    if (within.has(node.key)) return;
    const isChosen = chosen.has(node.key);
    const slot = (isChosen ? 1 : 0) + (mayEdit ? 2 : 0);
    const kept = drawnNodes.get(node) ?? [];
    drawnNodes.set(node, kept);
    const ready = kept[slot];
    const box = boxes.get(node.key);
    if (box) {
      const keys = (members.get(node.key) ?? []).map((one) => one.key);
      const isSame = ready && hasBox(ready as GroupFlowNode, box, keys);
      kept[slot] = isSame ? ready : groupNode(node, box, keys, isChosen, mayEdit);
    } else if (!ready || (node.raw.position === undefined && ready.position.y !== placeOf(node, index).y)) {
      kept[slot] =
        kindOf(node) === "note" ? noteNode(node, index, isChosen, mayEdit) : stepNode(node, index, isChosen, mayEdit);
    }
    nodes.push(kept[slot] as Node);
  });
  return [...nodes, ...missingNodes(canvas)];
}

function handlesOf(size: { width: number; height: number }, types: ("source" | "target")[]): NodeHandle[] {
  return types.map((type) => ({
    type,
    position: type === "target" ? Position.Left : Position.Right,
    x: type === "target" ? -HANDLE / 2 - 1 : size.width - HANDLE, // arrows end before the dot, not under it
    y: (size.height - HANDLE) / 2,
    width: HANDLE,
    height: HANDLE,
  }));
}

function stepNode(node: CanvasNode, index: number, selected: boolean, draggable: boolean): StepFlowNode {
  const size = sizeOf(node);
  return {
    id: node.key,
    type: "step",
    position: placeOf(node, index),
    data: { node },
    selected,
    draggable,
    style: LIFTED,
    ariaLabel: labelOf(node),
    ...size,
    measured: size,
    handles: handlesOf(size, ["target", "source"]),
  };
}

function noteNode(node: CanvasNode, index: number, selected: boolean, draggable: boolean): NoteFlowNode {
  const size = sizeOf(node);
  return {
    id: node.key,
    type: "note",
    position: placeOf(node, index),
    data: { node },
    selected,
    draggable,
    zIndex: selected ? 0 : BELOW.note,
    ariaLabel: "Note",
    ...size,
    measured: size,
    handles: handlesOf(size, ["target", "source"]),
  };
}

function groupNode(
  node: CanvasNode,
  box: Box,
  members: string[],
  selected: boolean,
  draggable: boolean,
): GroupFlowNode {
  const size = { width: box.width, height: box.height };
  const isClosed = isCollapsed(node);
  const drawn: GroupFlowNode = {
    id: node.key,
    type: "frame",
    position: { x: box.x, y: box.y },
    data: { node, members, isClosed },
    selected,
    draggable,
    ariaLabel: `Group ${labelOf(node)}`,
    ...size,
    measured: size,
    handles: handlesOf(size, ["target", "source"]),
  };
  if (isClosed) return drawn;
  // Only its title is held by the pointer: inside the frame the canvas is chosen on and moved as anywhere.
  return { ...drawn, zIndex: BELOW.group, dragHandle: ".group-title", style: { pointerEvents: "none" } };
}

function hasBox(drawn: GroupFlowNode, box: Box, members: string[]): boolean {
  return (
    drawn.position.x === box.x &&
    drawn.position.y === box.y &&
    drawn.width === box.width &&
    drawn.height === box.height &&
    drawn.data.members.length === members.length &&
    drawn.data.members.every((key, index) => key === members[index])
  );
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
    handles: handlesOf(SIZE, ["target", "source"]),
  }));
}

// `there`: the keys of all nodes; `within`: for each node that is not drawn the group that stands for it.
export function flowEdges(
  edges: CanvasEdge[],
  there: ReadonlySet<string>,
  within: ReadonlyMap<string, string>,
  chosen: ReadonlySet<string>,
  marks: Marks,
): Edge[] {
  return bundled(edges, within).map(({ source, target, edges: [edge, ...more] }) => {
    const all = [edge as CanvasEdge, ...more];
    const severities = all.flatMap((one) => (marks.get(one.key) ?? []).map((problem) => problem.severity));
    const severity = severities.includes("error") ? "error" : severities[0];
    const drawn = flowEdge(edge as CanvasEdge, source, target, there, chosen, severity);
    // Several in one line are chosen where the group is open.
    return more.length
      ? {
          ...drawn,
          type: "worded",
          label: `${all.length} connections`,
          selectable: false,
          focusable: false,
          selected: false,
        }
      : drawn;
  });
}

function flowEdge(
  edge: CanvasEdge,
  source: string,
  target: string,
  there: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
  severity: string | undefined,
): Edge {
  const data = { ...edge.raw, ...objectOr(edge.raw.data) };
  const condition = textOr(data.condition)
    .replace(/^\{%\s*|\s*%\}$/g, "")
    .trim();
  const isDangling = !there.has(source) || !there.has(target);
  const errors = errorsOf(edge);
  const label =
    condition || (errors.length && spokenErrors(errors)) || textOr(data.relation_label) || textOr(data.label);
  const kinds = [
    condition && "conditional",
    errors.length > 0 && "on-error",
    data.relation_type === "dependency" && "dependency",
    isDangling && "dangling",
  ];
  const drawn: Edge = {
    id: edge.key,
    source: there.has(source) ? source : MISSING + source,
    target: there.has(target) ? target : MISSING + target,
    selected: chosen.has(edge.key),
    className: [...kinds, severity && `marked ${severity}`].filter(Boolean).join(" "),
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
  };
  if (label) {
    drawn.type = "worded";
    drawn.label = label.length > 48 ? `${label.slice(0, 47)}…` : label;
  }
  return drawn;
}
