// Nodes and edges as text that can be pasted elsewhere: another tab, another workflow, a chat.
import {
  type Canvas,
  type CanvasEdge,
  type CanvasNode,
  free,
  isStep,
  kindOf,
  labelOf,
  type Point,
  placeOf,
  readCanvas,
} from "./document";
import { groupOf, withMembers } from "./groups";
import { isObject, type Json, type JsonObject, objectOr } from "./json";

const KIND = "poimen/canvas";

// The chosen nodes and the edges between them; "" when nothing is chosen.
export function copied(canvas: Canvas, chosen: ReadonlySet<string>): string {
  const all = withMembers(canvas, chosen);
  const nodes = canvas.nodes.filter((node) => all.has(node.key));
  if (!nodes.length) return "";
  const edges = canvas.edges.filter((edge) => all.has(edge.source) && all.has(edge.target));
  return JSON.stringify({ kind: KIND, nodes: nodes.map((node) => node.raw), edges: edges.map((edge) => edge.raw) });
}

export interface Pasted {
  nodes: CanvasNode[];
  edges: CanvasEdge[];
}

// What the text holds, with ids that are free on this canvas and references between the pasted nodes renamed with
// them; null for text that is no copy. `offset` moves it, so that it does not cover what it was copied from.
export function pasted(canvas: Canvas, text: string, offset: Point): Pasted | null {
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(sent) || (sent.kind !== KIND && !Array.isArray(sent.nodes))) return null;
  const read = readCanvas(sent);
  if (!read.nodes.length) return null;
  const taken = new Set(canvas.nodes.map((node) => node.key));
  const edgeKeys = new Set(canvas.edges.map((edge) => edge.key));
  const names = new Map(read.nodes.map((node) => [node.key, free(node.key, taken)]));
  const spoken = new Map([
    ...read.nodes.map((node): [string, string] => [labelOf(node), names.get(node.key) ?? node.key]),
    ...names,
  ]);
  const groups = new Set(canvas.nodes.filter((node) => kindOf(node) === "group").map((node) => node.key));
  const labels = new Set(canvas.nodes.map(labelOf)); // two nodes of one label could not be referred to by it
  const nodes = read.nodes.map((node, index) => {
    const place = placeOf(node, index);
    const position = {
      ...(isObject(node.raw.position) ? node.raw.position : {}),
      x: place.x + offset.x,
      y: place.y + offset.y,
    };
    const key = names.get(node.key) ?? node.key;
    const raw = kindOf(node) === "note" ? node.raw : (renamed(node.raw, spoken) as JsonObject);
    const data = { ...objectOr(raw.data) };
    if (isStep(node)) data.label = labelOf(node) === node.key ? key : freeLabel(labelOf(node), labels);
    // A copy belongs to the copy of its group, else where the group is on this canvas to that one.
    const group = groupOf(node);
    if (names.has(group)) data.group = names.get(group) ?? group;
    else if (!groups.has(group)) delete data.group;
    return { key, raw: { ...raw, id: key, position, data } };
  });
  const edges = read.edges.flatMap((edge): CanvasEdge[] => {
    const [source, target] = [names.get(edge.source), names.get(edge.target)];
    if (!source || !target) return [];
    const key = free(`${source}-${target}`, edgeKeys);
    return [{ key, source, target, raw: { ...(renamed(edge.raw, spoken) as JsonObject), id: key, source, target } }];
  });
  return { nodes, edges };
}

function freeLabel(label: string, taken: Set<string>): string {
  let one = label;
  for (let count = 2; taken.has(one); count += 1) one = `${label} ${count}`;
  taken.add(one);
  return one;
}

function renamed(value: Json, names: ReadonlyMap<string, string>): Json {
  if (typeof value === "string") {
    return value.replace(/\$\{([^${}.]+)(?=\.output\b)/g, (_, id: string) => `\${${names.get(id) ?? id}`);
  }
  if (Array.isArray(value)) return value.map((part) => renamed(part, names));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, renamed(part, names)]));
  return value;
}
