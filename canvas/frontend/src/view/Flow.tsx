// The drawing surface: pan, zoom, choose, move, connect, drop. What it is told it turns into changes of the canvas.
import {
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type Edge,
  type EdgeChange,
  type FinalConnectionState,
  MiniMap,
  type Node,
  type NodeChange,
  type OnConnectStartParams,
  ReactFlow,
  useReactFlow,
} from "@xyflow/react";
import {
  type DragEvent,
  type ReactElement,
  type MouseEvent as ReactMouseEvent,
  useCallback,
  useEffect,
  useMemo,
  useState,
} from "react";
import { useCanvasKeys } from "../behaviours/canvasKeys";
import { addOwnDeeds } from "../behaviours/deeds";
import { joinUnder } from "../behaviours/grouping";
import { beginGuiding, endGuiding, guided } from "../behaviours/guiding";
import { chosenSpot, openMenu } from "../behaviours/menu";
import { askWhat, askWhere } from "../behaviours/picking";
import { rename } from "../behaviours/renaming";
import { useWhole } from "../behaviours/whole";
import { add, connect, move, newNode, refusal, resize, splice, type Wanted } from "../model/changes";
import { END_SIZE, NOTE_SIZE, type Point, placeOf, SIZE } from "../model/document";
import { carried, hidden } from "../model/groups";
import { useRun } from "../run";
import { canvasNow, change, choose, closeGroup, editor, say, useEditor } from "../store";
import { beginPulling, endPulling } from "./acceptance";
import { ContextMenu } from "./ContextMenu";
import { Joiner } from "./Finder";
import { flowEdges, flowNodes } from "./flow";
import { GroupNode } from "./GroupNode";
import { Guides } from "./Guides";
import { NoteNode } from "./NoteNode";
import { withWays } from "./run/ways";
import { MissingNode, StepNode } from "./StepNode";
import { useSuggestedEdges } from "./suggest/drawn";
import { WordedEdge } from "./WordedEdge";

const EDGE_TYPES = { worded: WordedEdge };
const NODE_TYPES = { step: StepNode, missing: MissingNode, note: NoteNode, frame: GroupNode };
const NOTE: Wanted = { kind: "note", name: "note", label: "Note" };
const MANY = 150; // nodes, from which on only those in view are drawn
export const DRAGGED = "application/x-poimen-node";

// What React Flow is given stays the same object from one drawing to the next: it asks every node and every edge again
// for each thing that differs, and that for each move of the pointer.
const SNAP: [number, number] = [4, 4];
const FIT = { padding: 0.1, maxZoom: 1 };
const SEVERAL = ["Shift", "Control", "Meta"];
const MAP_SIZE = { width: 160, height: 100 };

// Adds it, connected to `from` (or, backwards, before it), or in the middle of the connection `edge`.
export function addAt(wanted: Wanted, place: Point, from = "", isForwards = true, edge = ""): void {
  const node = newNode(canvasNow(), wanted, place);
  closeGroup();
  change((canvas) => {
    const added = add(canvas, [node]);
    if (edge) return splice(added, edge, node.key);
    const [source, target] = isForwards ? [from, node.key] : [node.key, from];
    return from && !refusal(added, source, target) ? connect(added, source, target) : added;
  }, "move"); // that it joins the group it lies in is part of the same step
  joinUnder([node.key]);
  closeGroup();
  choose([node.key]);
  if (wanted.kind === "note") rename(node.key);
}

// Lets the view follow to what was added, as far as it takes to see it.
export function follow(flow: ReturnType<typeof useReactFlow>, place: Point): void {
  const box = document.querySelector(".surface")?.getBoundingClientRect();
  if (!box) return;
  const first = flow.flowToScreenPosition({ x: place.x - 8, y: place.y - 8 });
  const last = flow.flowToScreenPosition({ x: place.x + SIZE.width + 40, y: place.y + SIZE.height + 40 });
  const beyond = (start: number, end: number, from: number, to: number) =>
    end > to ? end - to : Math.min(0, start - from);
  const [right, down] = [beyond(first.x, last.x, box.left, box.right), beyond(first.y, last.y, box.top, box.bottom)];
  const { x, y, zoom } = flow.getViewport();
  if (right || down) void flow.setViewport({ x: x - right, y: y - down, zoom }, { duration: 200 });
}

// The two chosen nodes, from the left one to the right one; one alone with what is found by name.
export function connectChosen(): void {
  const { nodes } = editor.getState();
  const canvas = canvasNow();
  const chosen = canvas.nodes.filter((node) => nodes.has(node.key));
  const [from, to] = chosen.sort((a, b) => placeOf(a).x - placeOf(b).x);
  if (from && chosen.length === 1) {
    askWhere(from.key);
    return;
  }
  const why =
    !from || !to || chosen.length > 2
      ? "Choose the node, or the two nodes, to connect."
      : refusal(canvas, from.key, to.key);
  if (why) say(why, true);
  else if (from && to) change((now) => connect(now, from.key, to.key));
}

export function Flow({ onArrange }: { onArrange: () => void }): ReactElement {
  const canvas = useEditor((state) => state.history.present);
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const marks = useEditor((state) => state.edgeMarks);
  const ways = useRun((run) => run.ways);
  const mayEdit = useEditor((state) => state.mayEdit);
  const goTo = useEditor((state) => state.goTo);
  const flow = useReactFlow();
  const drawnNodes = useMemo(() => flowNodes(canvas, nodes, mayEdit), [canvas, nodes, mayEdit]);
  // Nodes that only move leave every edge as it is.
  const keys = canvas.nodes.map((node) => node.key).join("\n");
  const within = JSON.stringify([...hidden(canvas)]);
  const drawnEdges = useMemo(
    () => flowEdges(canvas.edges, new Set(keys.split("\n")), new Map(JSON.parse(within)), edges, marks),
    [canvas.edges, keys, within, edges, marks],
  );
  const edgesWithWays = useMemo(() => withWays(drawnEdges, ways), [drawnEdges, ways]);
  const shownEdges = useSuggestedEdges(canvas, edgesWithWays);

  useEffect(() => {
    const node = goTo && flow.getNode(hidden(canvasNow()).get(goTo.key) ?? goTo.key);
    if (!node) return;
    const { width = SIZE.width, height = SIZE.height } = node;
    const [x, y] = [node.position.x + width / 2, node.position.y + height / 2];
    void flow.setCenter(x, y, { zoom: Math.max(0.8, flow.getZoom()), duration: 200 });
  }, [goTo, flow]);

  const onNodesChange = useCallback(
    (changes: NodeChange[]) => {
      const places = new Map<string, Point>();
      const chosen = new Set(editor.getState().nodes);
      let isChosen = false;
      for (const one of changes) {
        if (one.type === "position" && one.position) places.set(one.id, one.position);
        // What React Flow measures by itself says nothing of resizing.
        if (one.type === "dimensions" && one.resizing !== undefined && one.dimensions) {
          const { width, height } = one.dimensions;
          change((now) => resize(now, one.id, width, height), "move");
          if (!one.resizing) closeGroup();
        }
        if (one.type === "select") {
          isChosen = true;
          if (one.selected) chosen.add(one.id);
          else chosen.delete(one.id);
        }
      }
      if (isChosen) editor.setState({ nodes: chosen });
      const [dragged] = places;
      if (dragged && places.size === 1 && changes.some((one) => one.type === "position" && one.dragging)) {
        places.set(dragged[0], guided(dragged[0], dragged[1], flow.getZoom()));
      }
      if (places.size) change((now) => move(now, carried(now, places)), "move");
    },
    [flow],
  );

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
      endPulling();
      if (state.toNode || !state.fromNode) return;
      const spot = "changedTouches" in event ? event.changedTouches[0] : event;
      if (!spot) return;
      const at = { x: spot.clientX, y: spot.clientY };
      const isForwards = state.fromHandle?.type !== "target";
      const point = flow.screenToFlowPosition(at);
      const place = { x: point.x - (isForwards ? 0 : SIZE.width), y: point.y - SIZE.height / 2 };
      askWhat({ at, place, from: state.fromNode.id, isForwards });
    },
    [flow],
  );

  const onDrop = useCallback(
    (event: DragEvent) => {
      const text = event.dataTransfer.getData(DRAGGED);
      if (!text) return;
      event.preventDefault();
      const wanted = JSON.parse(text) as Wanted;
      const size = sizeWanted(wanted);
      const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      addAt(wanted, { x: point.x - size.width / 2, y: point.y - size.height / 2 });
    },
    [flow],
  );

  const isWhole = useWhole();
  const [hasMap, setMap] = useState(true);
  const toggleMap = useCallback(() => setMap((shown) => !shown), []);
  const addNote = useCallback((place: Point) => addAt(NOTE, place), []);
  useCanvasKeys({ addNote, toggleMap });
  useEffect(
    () =>
      addOwnDeeds({
        arrange: onArrange,
        fit: () => void flow.fitView({ ...FIT, duration: 200 }),
        addNote: ({ place }) => addNote(place),
        connect: connectChosen,
        toggleMap,
      }),
    [flow, addNote, onArrange, toggleMap],
  );

  // On what is not chosen, the menu chooses it; on what is, it is about all that is chosen. By key: where the node is.
  const menus = useMemo(() => {
    function openAt(event: ReactMouseEvent | MouseEvent, key = "", edge = ""): void {
      event.preventDefault();
      const { nodes: chosen, edges: lines } = editor.getState();
      if (key ? !chosen.has(key) : edge ? !lines.has(edge) : true) choose(key ? [key] : [], edge ? [edge] : []);
      const at = { x: event.clientX, y: event.clientY };
      openMenu(chosenSpot(at, flow.screenToFlowPosition(at)));
    }
    return {
      ofNode: (event: ReactMouseEvent, node: Node) => openAt(event, node.type === "missing" ? "" : node.id),
      ofEdge: (event: ReactMouseEvent, edge: Edge) => openAt(event, "", edge.id),
      ofPane: (event: ReactMouseEvent | MouseEvent) => openAt(event),
      ofSelection: (event: ReactMouseEvent, [first]: Node[]) => openAt(event, first?.id),
    };
  }, [flow]);

  return (
    <ReactFlow
      nodes={drawnNodes}
      edges={shownEdges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
      onConnect={onConnect}
      onConnectStart={pull}
      onConnectEnd={onConnectEnd}
      onNodeDragStart={take}
      onNodeContextMenu={menus.ofNode}
      onEdgeContextMenu={menus.ofEdge}
      onPaneContextMenu={menus.ofPane}
      onSelectionContextMenu={menus.ofSelection}
      onNodeDragStop={letGo}
      onSelectionDragStop={letGoAll}
      onDrop={onDrop}
      onDragOver={bear}
      nodesConnectable={mayEdit}
      nodesDraggable={mayEdit}
      deleteKeyCode={null}
      multiSelectionKeyCode={SEVERAL}
      snapToGrid
      snapGrid={SNAP}
      minZoom={0.05}
      maxZoom={2}
      fitView
      fitViewOptions={FIT}
      onlyRenderVisibleElements={drawnNodes.length > MANY && !isWhole}
      elevateEdgesOnSelect
      elevateNodesOnSelect={false}
    >
      <Background variant={BackgroundVariant.Dots} gap={20} size={1.2} />
      <Controls showInteractive={false} fitViewOptions={FIT} />
      {hasMap && (
        <MiniMap pannable zoomable style={MAP_SIZE} nodeClassName={minimapClass} ariaLabel="Overview of the canvas" />
      )}
      <Guides />
      <ContextMenu />
      <Joiner />
    </ReactFlow>
  );
}

function pull(_: unknown, { nodeId, handleType }: OnConnectStartParams): void {
  if (nodeId) beginPulling(nodeId, handleType === "source");
}

function bear(event: DragEvent): void {
  if (!event.dataTransfer.types.includes(DRAGGED)) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
}

function take(_: unknown, node: Node): void {
  closeGroup();
  editor.setState({ isDragged: true });
  beginGuiding(node.id);
}

function letGo(_: unknown, __: Node, moved: Node[]): void {
  letGoAll(_, moved);
}

function letGoAll(_: unknown, moved: Node[]): void {
  endGuiding();
  editor.setState({ isDragged: false });
  joinUnder(moved.map((node) => node.id));
  closeGroup();
}

export function sizeWanted(wanted: Wanted): { width: number; height: number } {
  if (wanted.kind === "note") return NOTE_SIZE;
  return wanted.kind === "start" || wanted.kind === "end" ? END_SIZE : SIZE;
}

function minimapClass(node: Node): string {
  return node.type === "step" ? "" : (node.type ?? "");
}
