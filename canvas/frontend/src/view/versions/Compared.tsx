// Two canvases drawn as one, with what is different marked by colour, sign and line. Nothing can be changed here.
import {
  Background,
  BackgroundVariant,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { memo, type ReactElement, useEffect, useMemo } from "react";
import { type Comparison, comparison, type How } from "../../model/comparison";
import type { Difference } from "../../model/differences";
import {
  activityOf,
  type Canvas,
  type CanvasNode,
  dataOf,
  kindOf,
  labelOf,
  SIZE,
  sizeOf,
  stateTypeOf,
} from "../../model/document";
import { frames } from "../../model/groups";
import { textOr } from "../../model/json";
import { useEditor } from "../../store";
import { Icon } from "../icons";

export const SIGNS: Record<How, string> = { added: "+", removed: "−", changed: "~", moved: "↔" };
const MANY = 150; // nodes, from which on only those in view are drawn
const TYPES = { compared: memo(ComparedNode) };

type ComparedFlowNode = Node<{ node: CanvasNode; how: How | undefined; isAt: boolean }, "compared">;

export function Compared(props: {
  before: Canvas | null;
  after: Canvas;
  list: Difference[];
  at: Difference | null;
  onChoose: (what: Difference["what"], key: string) => void;
}): ReactElement {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({
  before,
  after,
  list,
  at,
  onChoose,
}: {
  before: Canvas | null;
  after: Canvas;
  list: Difference[];
  at: Difference | null;
  onChoose: (what: Difference["what"], key: string) => void;
}): ReactElement {
  const flow = useReactFlow();
  const drawn = useMemo(() => comparison(before, after, list), [before, after, list]);
  const nodes = useMemo(() => flowNodes(drawn, at?.what === "node" ? at.key : ""), [drawn, at]);
  const edges = useMemo(() => flowEdges(drawn, at?.what === "edge" ? at.key : ""), [drawn, at]);
  useEffect(() => {
    const edge = at?.what === "edge" ? drawn.canvas.edges.find((one) => one.key === at.key) : undefined;
    const places = (edge ? [edge.source, edge.target] : [at?.key ?? ""]).flatMap((key) => drawn.places.get(key) ?? []);
    if (!at || at.what === "workflow" || !places.length) return;
    const [x, y] = [mean(places.map((place) => place.x)), mean(places.map((place) => place.y))];
    void flow.setCenter(x + SIZE.width / 2, y + SIZE.height / 2, {
      zoom: Math.max(0.7, flow.getZoom()),
      duration: 200,
    });
  }, [at, drawn, flow]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={TYPES}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      onNodeClick={(_, node) => onChoose("node", node.id)}
      onEdgeClick={(_, edge) => onChoose("edge", edge.id)}
      deleteKeyCode={null}
      minZoom={0.05}
      maxZoom={2}
      fitView
      fitViewOptions={{ padding: 0.15, maxZoom: 1 }}
      onlyRenderVisibleElements={nodes.length > MANY}
      aria-label="The canvas with what is different"
    >
      <Background id="compared" variant={BackgroundVariant.Dots} gap={20} size={1.2} />
      <Controls showInteractive={false} fitViewOptions={{ padding: 0.15, maxZoom: 1 }} />
    </ReactFlow>
  );
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function flowNodes({ canvas, places, nodes: marks }: Comparison, at: string): ComparedFlowNode[] {
  const boxes = frames(canvas);
  return canvas.nodes.map((node) => {
    const box = boxes.get(node.key);
    const size = box ? { width: box.width, height: box.height } : sizeOf(node);
    const kind = kindOf(node);
    return {
      id: node.key,
      type: "compared",
      position: box ? { x: box.x, y: box.y } : (places.get(node.key) ?? { x: 0, y: 0 }),
      data: { node, how: marks.get(node.key), isAt: node.key === at },
      zIndex: kind === "group" ? -2 : kind === "note" ? -1 : 0,
      ...size,
      measured: size,
    };
  });
}

function flowEdges({ canvas, edges: marks }: Comparison, at: string): Edge[] {
  const there = new Set(canvas.nodes.map((node) => node.key));
  return canvas.edges
    .filter((edge) => there.has(edge.source) && there.has(edge.target))
    .map((edge) => {
      const how = marks.get(edge.key);
      const drawn: Edge = {
        id: edge.key,
        source: edge.source,
        target: edge.target,
        className: `${how ? `how-${how}` : "how-same"}${edge.key === at ? " at" : ""}`,
        markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
      };
      if (how) drawn.label = SIGNS[how];
      return drawn;
    });
}

function ComparedNode({ data: { node, how, isAt } }: NodeProps<ComparedFlowNode>): ReactElement {
  const activities = useEditor((state) => state.activities);
  const kind = kindOf(node);
  const marked = `${how ? ` how-${how}` : " how-same"}${isAt ? " at" : ""}`;
  const sign = how && (
    <span className="how">
      <span aria-hidden="true">{SIGNS[how]}</span> {how}
    </span>
  );
  const sides = (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </>
  );
  if (kind === "note" || kind === "group") {
    return (
      <div className={`compared-${kind}${marked}`} dir="auto">
        {sides}
        {sign}
        <span className="text">{kind === "note" ? textOr(dataOf(node).text) : labelOf(node)}</span>
      </div>
    );
  }
  if (kind !== "activity") {
    return (
      <div className={`step-node pill ${kind}${marked}`}>
        {sides}
        {sign}
        <Icon name={kind} />
        <span dir="auto">{labelOf(node) === node.key ? (kind === "start" ? "Start" : "End") : labelOf(node)}</span>
      </div>
    );
  }
  const state = stateTypeOf(node);
  const activity = activities.of(node);
  const icon = state ? state.toLowerCase() : (activity?.category ?? "unknown");
  return (
    <div className={`step-node${marked}`} data-category={icon}>
      {sides}
      {sign}
      <span className="badge">
        <Icon name={icon} />
      </span>
      <span className="words">
        <strong dir="auto">{labelOf(node)}</strong>
        <small dir="auto">{state || activity?.name.replace(/Activity$/, "") || activityOf(node)}</small>
      </span>
    </div>
  );
}
