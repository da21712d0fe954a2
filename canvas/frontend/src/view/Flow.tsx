// The drawing surface: pan, zoom, choose, move, connect, drop. What it is told it turns into changes of the canvas.
import {
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type EdgeChange,
  type FinalConnectionState,
  MiniMap,
  type Node,
  type NodeChange,
  ReactFlow,
  useReactFlow,
} from "@xyflow/react";
import { type DragEvent, type ReactElement, useCallback, useEffect, useMemo } from "react";
import { add, connect, move, newNode, refusal, type Wanted } from "../model/changes";
import { END_SIZE, type Point, placeOf, SIZE } from "../model/document";
import { canvasNow, change, choose, closeGroup, editor, say, useEditor } from "../store";
import { flowEdges, flowNodes } from "./flow";
import { MissingNode, StepNode } from "./StepNode";

const NODE_TYPES = { step: StepNode, missing: MissingNode };
const MANY = 150; // nodes, from which on only those in view are drawn
export const DRAGGED = "application/x-poimen-node";

export interface Drop {
  at: Point; // on the screen
  place: Point; // on the canvas
  from: string; // the node that a connection was pulled from, "" for none
  isForwards: boolean;
}

export function addAt(wanted: Wanted, place: Point, from = "", isForwards = true): void {
  const node = newNode(canvasNow(), wanted, place);
  change((canvas) => {
    const added = add(canvas, [node]);
    const [source, target] = isForwards ? [from, node.key] : [node.key, from];
    return from && !refusal(added, source, target) ? connect(added, source, target) : added;
  });
  choose([node.key]);
}

// The two chosen nodes, from the left one to the right one.
export function connectChosen(): void {
  const { nodes } = editor.getState();
  const canvas = canvasNow();
  const chosen = canvas.nodes.filter((node) => nodes.has(node.key));
  const [from, to] = chosen.sort((a, b) => placeOf(a).x - placeOf(b).x);
  const why =
    !from || !to || chosen.length > 2 ? "Choose the two nodes to connect." : refusal(canvas, from.key, to.key);
  if (why) say(why, true);
  else if (from && to) change((now) => connect(now, from.key, to.key));
}

export function Flow({ onDropped }: { onDropped: (drop: Drop) => void }): ReactElement {
  const canvas = useEditor((state) => state.history.present);
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const marks = useEditor((state) => state.edgeMarks);
  const mayEdit = useEditor((state) => state.mayEdit);
  const goTo = useEditor((state) => state.goTo);
  const flow = useReactFlow();
  const drawnNodes = useMemo(() => flowNodes(canvas, nodes, mayEdit), [canvas, nodes, mayEdit]);
  // Nodes that only move leave every edge as it is.
  const keys = canvas.nodes.map((node) => node.key).join("\n");
  const drawnEdges = useMemo(
    () => flowEdges(canvas.edges, new Set(keys.split("\n")), edges, marks),
    [canvas.edges, keys, edges, marks],
  );

  useEffect(() => {
    const node = goTo && flow.getNode(goTo.key);
    if (!node) return;
    const [x, y] = [node.position.x + SIZE.width / 2, node.position.y + SIZE.height / 2];
    void flow.setCenter(x, y, { zoom: Math.max(0.8, flow.getZoom()), duration: 200 });
  }, [goTo, flow]);

  const onNodesChange = useCallback((changes: NodeChange[]) => {
    const places = new Map<string, Point>();
    const chosen = new Set(editor.getState().nodes);
    let isChosen = false;
    for (const one of changes) {
      if (one.type === "position" && one.position) places.set(one.id, one.position);
      if (one.type === "select") {
        isChosen = true;
        if (one.selected) chosen.add(one.id);
        else chosen.delete(one.id);
      }
    }
    if (isChosen) editor.setState({ nodes: chosen });
    if (places.size) change((now) => move(now, places), "move");
  }, []);

  const onEdgesChange = useCallback((changes: EdgeChange[]) => {
    const chosen = new Set(editor.getState().edges);
    for (const one of changes) {
      if (one.type !== "select") continue;
      if (one.selected) chosen.add(one.id);
      else chosen.delete(one.id);
    }
    editor.setState({ edges: chosen });
  }, []);

  const onConnect = useCallback(({ source, target }: Connection) => {
    const why = refusal(canvasNow(), source, target);
    if (why) say(why, true);
    else change((now) => connect(now, source, target));
  }, []);

  const onConnectEnd = useCallback(
    (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
      if (state.toNode || !state.fromNode) return;
      const spot = "changedTouches" in event ? event.changedTouches[0] : event;
      if (!spot) return;
      const at = { x: spot.clientX, y: spot.clientY };
      const isForwards = state.fromHandle?.type !== "target";
      const point = flow.screenToFlowPosition(at);
      const place = { x: point.x - (isForwards ? 0 : SIZE.width), y: point.y - SIZE.height / 2 };
      onDropped({ at, place, from: state.fromNode.id, isForwards });
    },
    [flow, onDropped],
  );

  const onDrop = useCallback(
    (event: DragEvent) => {
      const text = event.dataTransfer.getData(DRAGGED);
      if (!text) return;
      event.preventDefault();
      const wanted = JSON.parse(text) as Wanted;
      const size = wanted.kind === "start" || wanted.kind === "end" ? END_SIZE : SIZE;
      const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      addAt(wanted, { x: point.x - size.width / 2, y: point.y - size.height / 2 });
    },
    [flow],
  );

  return (
    <ReactFlow
      nodes={drawnNodes}
      edges={drawnEdges}
      nodeTypes={NODE_TYPES}
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
      onConnect={onConnect}
      onConnectEnd={onConnectEnd}
      onNodeDragStart={closeGroup}
      onNodeDragStop={closeGroup}
      onSelectionDragStop={closeGroup}
      onDrop={onDrop}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes(DRAGGED)) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
      }}
      nodesConnectable={mayEdit}
      nodesDraggable={mayEdit}
      deleteKeyCode={null}
      multiSelectionKeyCode={["Shift", "Control", "Meta"]}
      snapToGrid
      snapGrid={[4, 4]}
      minZoom={0.05}
      maxZoom={2}
      fitView
      fitViewOptions={{ padding: 0.1, maxZoom: 1 }}
      onlyRenderVisibleElements={drawnNodes.length > MANY}
      elevateEdgesOnSelect
    >
      <Background variant={BackgroundVariant.Dots} gap={20} size={1.2} />
      <Controls showInteractive={false} fitViewOptions={{ padding: 0.1, maxZoom: 1 }} />
      <MiniMap
        pannable
        zoomable
        style={{ width: 160, height: 100 }}
        nodeClassName={minimapClass}
        ariaLabel="Overview of the canvas"
      />
    </ReactFlow>
  );
}

function minimapClass(node: Node): string {
  return node.type === "missing" ? "missing" : "";
}
