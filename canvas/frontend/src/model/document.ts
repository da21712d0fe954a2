// A canvas as the editor holds it: every node and edge as it was sent, with a key that is unique whatever was sent.
// Owns reading and writing; refuses to repair - what it cannot draw it keeps and gives back.
import { isEqual, isObject, type Json, type JsonObject, objectOr, textOr } from "./json";

export type Kind = "start" | "end" | "activity" | "note" | "group"; // the last two only people read
export const KINDS: Kind[] = ["start", "end", "activity", "note", "group"];
export const STATE_TYPES = ["Wait", "WaitForSignal", "Workflow", "Fail"];

export interface CanvasNode {
  key: string; // its id, or something like it where two have the same
  raw: JsonObject;
}

export interface CanvasEdge {
  key: string;
  raw: JsonObject;
  source: string; // key of a node, or an id that no node has
  target: string;
}

export interface Canvas {
  name: string;
  description: string;
  status: string;
  nodes: CanvasNode[];
  edges: CanvasEdge[];
  odd: { nodes: Json[]; edges: Json[] }; // elements that are no objects
}

export interface Point {
  x: number;
  y: number;
}

export const SIZE = { width: 232, height: 68 };
export const END_SIZE = { width: 104, height: 44 };
export const NOTE_SIZE = { width: 240, height: 128 };
export const LEAST_NOTE = 60; // width and height
const SPACING = 120;
const LONGEST_LABEL = 255; // as the server takes; a longer one is shown, cut

export function readCanvas(sent: JsonObject): Canvas {
  const nodes = Array.isArray(sent.nodes) ? sent.nodes : [];
  const edges = Array.isArray(sent.edges) ? sent.edges : [];
  const nodeKeys = new Set<string>();
  const edgeKeys = new Set<string>();
  return {
    name: textOr(sent.name),
    description: textOr(sent.description),
    status: textOr(sent.status, "draft"),
    nodes: nodes.filter(isObject).map((raw) => ({ key: free(textOr(raw.id) || "node", nodeKeys), raw })),
    edges: edges.filter(isObject).map((raw) => {
      const [source, target] = [named(raw.source), named(raw.target)];
      return { key: free(textOr(raw.id) || `${source}-${target}`, edgeKeys), raw, source, target };
    }),
    odd: { nodes: nodes.filter((raw) => !isObject(raw)), edges: edges.filter((raw) => !isObject(raw)) },
  };
}

// What is saved: exactly what was read where nothing was changed.
export function writeCanvas(canvas: Canvas): { nodes: Json[]; edges: Json[] } {
  return {
    nodes: [...canvas.nodes.map((node) => node.raw), ...canvas.odd.nodes],
    edges: [...canvas.edges.map((edge) => edge.raw), ...canvas.odd.edges],
  };
}

export function isSame(one: Canvas, other: Canvas): boolean {
  if (one === other) return true;
  const [a, b] = [writeCanvas(one), writeCanvas(other)];
  const isAlike = one.name === other.name && one.description === other.description && one.status === other.status;
  return isAlike && isEqual(a.nodes, b.nodes) && isEqual(a.edges, b.edges);
}

function named(end: Json | undefined): string {
  return typeof end === "string" ? end : JSON.stringify(end ?? null);
}

// A key that is not taken yet, and is from now on.
export function free(stem: string, taken: Set<string>): string {
  let key = stem;
  for (let count = 2; taken.has(key); count += 1) key = `${stem}-${count}`;
  taken.add(key);
  return key;
}

export function dataOf(node: { raw: JsonObject }): JsonObject {
  return objectOr(node.raw.data);
}

export function configOf(node: CanvasNode): JsonObject {
  return objectOr(dataOf(node).config);
}

export function kindOf(node: CanvasNode): Kind {
  return KINDS.find((kind) => kind === node.raw.type) ?? "activity";
}

// Whether edges may lead to it: notes and groups are only read.
export function isStep(node: CanvasNode): boolean {
  const kind = kindOf(node);
  return kind !== "note" && kind !== "group";
}

export function labelOf(node: CanvasNode): string {
  const label = textOr(dataOf(node).label).trim() || textOr(node.raw.label).trim() || node.key;
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL)}…` : label;
}

// The activity as it is drawn: any spelling, "" where none is named.
export function activityOf(node: CanvasNode): string {
  const drawn = textOr(dataOf(node).activity);
  if (drawn) return drawn;
  const type = textOr(node.raw.type);
  return type && !(KINDS as string[]).includes(type) && !stateTypeOf(node) ? type : "";
}

// Wait, WaitForSignal, Workflow or Fail; "" for a node that runs an activity.
export function stateTypeOf(node: CanvasNode): string {
  const drawn = textOr(dataOf(node).stateType) || textOr(node.raw.type);
  return STATE_TYPES.find((name) => squash(name) === squash(drawn)) ?? "";
}

// As the server compares names of activities: case, separators and the suffix do not matter.
export function squash(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .replace(/activity$/, "");
}

export function placeOf(node: CanvasNode, index = 0): Point {
  const { x, y } = objectOr(node.raw.position);
  const isPlaced = typeof x === "number" && typeof y === "number" && Number.isFinite(x) && Number.isFinite(y);
  return isPlaced ? { x: limited(x), y: limited(y) } : { x: 0, y: index * SPACING };
}

function limited(value: number): number {
  return Math.max(-1e6, Math.min(1e6, value)); // beyond this browsers draw nothing any more
}

export function sizeOf(node: CanvasNode): { width: number; height: number } {
  const kind = kindOf(node);
  if (kind === "note") {
    const { width, height } = node.raw;
    return { width: measured(width, NOTE_SIZE.width), height: measured(height, NOTE_SIZE.height) };
  }
  return kind === "activity" || kind === "group" ? SIZE : END_SIZE;
}

function measured(value: Json | undefined, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.max(LEAST_NOTE, Math.min(4000, value)) : otherwise;
}
