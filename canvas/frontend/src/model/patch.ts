// A JSON Patch (RFC 6902) on a canvas, as the server sends fixes: what it does not touch keeps its identity.
// Refuses a patch for another canvas as a whole: a test that fails, or a place that is not there.
import { type Canvas, type CanvasEdge, type CanvasNode, readCanvas, writeCanvas } from "./document";
import { isEqual, isObject, type Json, type JsonObject, textOr } from "./json";

export interface Change {
  op: string;
  path: string;
  value?: Json;
}

export class PatchRefused extends Error {}

export function readChanges(sent: unknown): Change[] {
  if (!Array.isArray(sent)) return [];
  return sent.filter(isObject).map((item) => {
    const change: Change = { op: textOr(item.op), path: textOr(item.path) };
    if (item.value !== undefined) change.value = item.value;
    return change;
  });
}

// The canvas with all changes made; throws PatchRefused where one cannot be.
export function applyPatch(canvas: Canvas, changes: Change[]): Canvas {
  const before: JsonObject = { ...writeCanvas(canvas) };
  const after = changes.reduce<Json>((document, change) => made(document, steps(change.path), change), before);
  const read = readCanvas(after as JsonObject);
  return {
    ...read,
    name: canvas.name,
    description: canvas.description,
    status: canvas.status,
    nodes: kept(read.nodes, canvas.nodes, (one, other) => one.key === other.key),
    edges: kept(read.edges, canvas.edges, sameEdge),
  };
}

function sameEdge(one: CanvasEdge, other: CanvasEdge): boolean {
  return one.key === other.key && one.source === other.source && one.target === other.target;
}

function kept<T extends CanvasNode | CanvasEdge>(list: T[], before: T[], isSame: (one: T, other: T) => boolean): T[] {
  const known = new Map(before.map((item) => [item.raw, item]));
  return list.map((item) => {
    const old = known.get(item.raw);
    return old && isSame(old, item) ? old : item;
  });
}

function steps(path: string): string[] {
  if (!path.startsWith("/")) throw new PatchRefused(`${path} is no place on a canvas`);
  return path
    .slice(1)
    .split("/")
    .map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function made(value: Json, way: string[], change: Change): Json {
  const [step = "", ...rest] = way;
  if (Array.isArray(value)) {
    const index = step === "-" ? value.length : /^\d+$/.test(step) ? Number(step) : -1;
    const isNew = change.op === "add" && !rest.length;
    if (index < 0 || index > (isNew ? value.length : value.length - 1)) throw gone(change);
    if (rest.length) return value.with(index, made(value[index] as Json, rest, change));
    if (change.op === "add") return value.toSpliced(index, 0, given(change));
    if (change.op === "remove") return value.toSpliced(index, 1);
    return value.with(index, replaced(value[index], change));
  }
  if (!isObject(value)) throw gone(change);
  if (rest.length) {
    const inner = value[step];
    if (inner === undefined) throw gone(change);
    return put(value, step, made(inner, rest, change));
  }
  if (change.op === "add") return { ...value, [step]: given(change) };
  if (value[step] === undefined) throw gone(change);
  if (change.op === "remove") return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step));
  return put(value, step, replaced(value[step], change));
}

// A test that passes leaves everything the object that it was.
function put(value: JsonObject, step: string, inner: Json): JsonObject {
  return value[step] === inner ? value : { ...value, [step]: inner };
}

function replaced(before: Json | undefined, change: Change): Json {
  if (change.op === "replace") return given(change);
  if (change.op !== "test") throw new PatchRefused(`${change.op} is no change that is known here`);
  if (!isEqual(before ?? null, given(change))) throw gone(change);
  return before ?? null;
}

function given(change: Change): Json {
  return change.value ?? null;
}

function gone(change: Change): PatchRefused {
  return new PatchRefused(`what ${change.path} meant is not there any more`);
}
