// Every change of a canvas as a pure function: a canvas in, another one out, what did not change shared between them.
import {
  type Canvas,
  type CanvasEdge,
  type CanvasNode,
  dataOf,
  free,
  isStep,
  kindOf,
  NOTE_SIZE,
  type Point,
  squash,
} from "./document";
import type { JsonObject } from "./json";

// What two nodes may not be joined for, in words; "" when they may.
export function refusal(canvas: Canvas, source: string, target: string): string {
  const from = canvas.nodes.find((node) => node.key === source);
  const to = canvas.nodes.find((node) => node.key === target);
  if (!from || !to) return "One end of this connection is not there.";
  if (!isStep(from) || !isStep(to)) return "Notes and groups are not connected; their nodes are.";
  if (source === target) return "A node cannot wait for itself.";
  if (kindOf(to) === "start") return "Nothing leads into a start.";
  if (kindOf(from) === "end") return "Nothing leads out of an end.";
  if (canvas.edges.some((edge) => edge.source === source && edge.target === target))
    return "They are connected already.";
  if (after(canvas, target).has(source)) return "That would go in a circle.";
  return "";
}

// The keys of all nodes that edges lead to from this one, itself included.
export function after(canvas: Canvas, key: string): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of canvas.edges) next.set(edge.source, [...(next.get(edge.source) ?? []), edge.target]);
  const found = new Set([key]);
  for (const one of found) for (const other of next.get(one) ?? []) found.add(other);
  return found;
}

export function connect(canvas: Canvas, source: string, target: string): Canvas {
  const taken = new Set(canvas.edges.map((edge) => edge.key));
  const id = free(`${source}-${target}`, taken);
  return { ...canvas, edges: [...canvas.edges, { key: id, raw: { id, source, target }, source, target }] };
}

// Lets the edge lead to the node, and a new one on from there to where it led: what the edge says of itself stays.
export function splice(canvas: Canvas, edge: string, node: string): Canvas {
  const old = canvas.edges.find((one) => one.key === edge);
  if (!old) return canvas;
  const turned = { ...old, raw: { ...old.raw, target: node }, target: node };
  const edges = canvas.edges.map((one) => (one === old ? turned : one));
  return connect({ ...canvas, edges }, node, old.target);
}

export function add(canvas: Canvas, nodes: CanvasNode[], edges: CanvasEdge[] = []): Canvas {
  return { ...canvas, nodes: [...canvas.nodes, ...nodes], edges: [...canvas.edges, ...edges] };
}

// Removes these nodes with the edges at them, and these edges.
export function remove(canvas: Canvas, nodes: ReadonlySet<string>, edges: ReadonlySet<string>): Canvas {
  const isKept = (edge: CanvasEdge) => !edges.has(edge.key) && !nodes.has(edge.source) && !nodes.has(edge.target);
  return {
    ...canvas,
    nodes: canvas.nodes.filter((node) => !nodes.has(node.key)),
    edges: canvas.edges.filter(isKept),
  };
}

export function move(canvas: Canvas, places: ReadonlyMap<string, Point>): Canvas {
  const moved = (node: CanvasNode): CanvasNode => {
    const place = places.get(node.key);
    if (!place) return node;
    const before = typeof node.raw.position === "object" && !Array.isArray(node.raw.position) ? node.raw.position : {};
    return { ...node, raw: { ...node.raw, position: { ...before, x: Math.round(place.x), y: Math.round(place.y) } } };
  };
  return { ...canvas, nodes: canvas.nodes.map(moved) };
}

// Sets the size of a note.
export function resize(canvas: Canvas, key: string, width: number, height: number): Canvas {
  const size = { width: Math.round(width), height: Math.round(height) };
  const nodes = canvas.nodes.map((node) => (node.key === key ? { ...node, raw: { ...node.raw, ...size } } : node));
  return { ...canvas, nodes };
}

export function setNodeData(canvas: Canvas, key: string, data: JsonObject): Canvas {
  const nodes = canvas.nodes.map((node) => (node.key === key ? { ...node, raw: { ...node.raw, data } } : node));
  return { ...canvas, nodes };
}

// Sets one key of the node's data, or takes it away.
export function setNodeKey(canvas: Canvas, key: string, name: string, value: JsonObject[string] | undefined): Canvas {
  const node = canvas.nodes.find((one) => one.key === key);
  return node ? setNodeData(canvas, key, withKey(dataOf(node), name, value)) : canvas;
}

export function setEdgeData(canvas: Canvas, key: string, data: JsonObject): Canvas {
  const edges = canvas.edges.map((edge) => (edge.key === key ? { ...edge, raw: { ...edge.raw, data } } : edge));
  return { ...canvas, edges };
}

export function withKey(object: JsonObject, name: string, value: JsonObject[string] | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _, ...rest } = object;
  return rest;
}

// An id that people can read in a reference: clone-repo, clone-repo-2.
export function idFor(canvas: Canvas, name: string): string {
  const words = name.replace(/Activity$/, "").replace(/([a-z0-9])([A-Z])|([A-Z]+)(?=[A-Z][a-z])/g, "$1$3-$2");
  const stem =
    words
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "") ||
    squash(name) ||
    "node";
  return free(stem, new Set(canvas.nodes.map((node) => node.key)));
}

export interface Wanted {
  kind: "start" | "end" | "activity" | "state" | "note"; // a state: Wait, WaitForSignal, Workflow
  name: string; // of the activity or the type of state
  label: string;
}

export function newNode(canvas: Canvas, wanted: Wanted, place: Point): CanvasNode {
  const id = idFor(canvas, wanted.kind === "activity" || wanted.kind === "state" ? wanted.name : wanted.kind);
  const position = { x: Math.round(place.x), y: Math.round(place.y) };
  if (wanted.kind === "note") {
    return { key: id, raw: { id, type: "note", position, ...NOTE_SIZE, data: { text: "", colour: "yellow" } } };
  }
  const data: JsonObject = { label: wanted.label, config: {} };
  if (wanted.kind === "activity") data.activity = wanted.name;
  if (wanted.kind === "state") data.stateType = wanted.name;
  const type = wanted.kind === "state" ? "activity" : wanted.kind;
  return { key: id, raw: { id, type, position, data } };
}
