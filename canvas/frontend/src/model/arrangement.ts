// What an automatic layout is asked, and what becomes of its answer: groups stay together, what is pinned stays where it
// is, and notes go with the node they lie beside. Knows no layout engine.
import { type Canvas, type CanvasNode, dataOf, isStep, kindOf, type Point, sizeOf } from "./document";
import { around, type Box, boxOf, frames, hidden, isCollapsed, membersOf, PADDING, TITLE, withMembers } from "./groups";

export interface Unit {
  key: string;
  width: number;
  height: number;
  inside: Unit[]; // of a group that is open
}

export interface Wish {
  units: Unit[];
  edges: { key: string; source: string; target: string }[];
}

const GAP = 36;

// The nodes and open groups to be placed, all of them or, of two and more that are chosen, those; and what joins them.
export function wished(canvas: Canvas, chosen: ReadonlySet<string>): Wish {
  const wanted = chosen.size < 2 ? null : withMembers(canvas, chosen);
  const within = hidden(canvas);
  const members = membersOf(canvas);
  const isIn = (node: CanvasNode) =>
    (!wanted || wanted.has(node.key)) && !within.has(node.key) && kindOf(node) !== "note";
  const unit = (node: CanvasNode, inside: Unit[] = []): Unit => ({ key: node.key, ...sizeOf(node), inside });
  const grouped = new Set<string>();
  const units: Unit[] = [];
  for (const node of canvas.nodes) {
    const own = members.get(node.key);
    if (!own || !isIn(node)) continue;
    const inside = isCollapsed(node) ? [] : own.filter(isIn).map((one) => unit(one));
    for (const one of inside) grouped.add(one.key);
    if (inside.length || isCollapsed(node)) units.push(unit(node, inside));
  }
  for (const node of canvas.nodes) if (isStep(node) && isIn(node) && !grouped.has(node.key)) units.push(unit(node));
  const there = new Set(units.flatMap((one) => [one.key, ...one.inside.map((inner) => inner.key)]));
  const edges = canvas.edges.flatMap((edge) => {
    const [source, target] = [within.get(edge.source) ?? edge.source, within.get(edge.target) ?? edge.target];
    return there.has(source) && there.has(target) && source !== target ? [{ key: edge.key, source, target }] : [];
  });
  const order = new Map(canvas.nodes.map((node, index) => [node.key, index]));
  const first = (one: Unit) => Math.min(...[one, ...one.inside].map((inner) => order.get(inner.key) ?? 0));
  return { units: units.sort((one, other) => first(one) - first(other)), edges };
}

// From the places that a layout gave (of the nodes, not of open groups) to those the nodes get: the whole begins where
// it began or, with pinned nodes in it, lies around those; what would lie on a pinned node goes below it.
export function settled(canvas: Canvas, laid: ReadonlyMap<string, Point>): Map<string, Point> {
  const boxes = new Map<string, Box>();
  const shown = frames(canvas);
  canvas.nodes.forEach((node, index) => {
    boxes.set(node.key, (isCollapsed(node) && shown.get(node.key)) || boxOf(node, index));
  });
  const moved = canvas.nodes.filter((node) => laid.has(node.key));
  if (!moved.length) return new Map();
  const pinned = moved.filter((node) => dataOf(node).pinned === true);
  const was = (nodes: CanvasNode[]) => around(nodes.map((node) => boxes.get(node.key) as Box));
  const is = (nodes: CanvasNode[]) =>
    around(nodes.map((node) => ({ ...(boxes.get(node.key) as Box), ...(laid.get(node.key) as Point) })));
  const anchor = pinned.length ? pinned : moved;
  const shift = { x: was(anchor).x - is(anchor).x, y: was(anchor).y - is(anchor).y };
  const places = new Map<string, Point>();
  const blocks = pinned.map((node) => boxes.get(node.key) as Box);
  for (const node of moved) {
    if (dataOf(node).pinned === true) continue;
    const at = laid.get(node.key) as Point;
    const place = { ...(boxes.get(node.key) as Box), x: onGrid(at.x + shift.x), y: onGrid(at.y + shift.y) };
    const isBlocked = () => blocks.find((block) => overlap(block, place));
    for (let block = isBlocked(); block; block = isBlocked()) place.y = onGrid(block.y + block.height + GAP);
    if (pinned.length) blocks.push(place);
    places.set(node.key, { x: place.x, y: place.y });
  }
  for (const note of canvas.nodes) {
    const box = boxes.get(note.key);
    if (kindOf(note) !== "note" || dataOf(note).pinned === true || !box) continue;
    const beside = nearest(box, moved, boxes);
    const [from, to] = [beside && boxes.get(beside), beside && places.get(beside)];
    if (from && to) places.set(note.key, { x: box.x + to.x - from.x, y: box.y + to.y - from.y });
  }
  return places;
}

// How much room an open group needs around its members, for the layout.
export const ROOM = { top: PADDING + TITLE, side: PADDING };

function onGrid(value: number): number {
  return Math.round(value / 4) * 4;
}

function overlap(one: Box, other: Box): boolean {
  const isBeside = one.x + one.width + GAP / 2 <= other.x || other.x + other.width + GAP / 2 <= one.x;
  return !isBeside && one.y < other.y + other.height && other.y < one.y + one.height;
}

function nearest(box: Box, nodes: CanvasNode[], boxes: ReadonlyMap<string, Box>): string | null {
  let [best, least]: [string | null, number] = [null, Number.POSITIVE_INFINITY];
  for (const { key } of nodes) {
    const other = boxes.get(key) as Box;
    const x = Math.max(other.x - box.x - box.width, box.x - other.x - other.width, 0);
    const y = Math.max(other.y - box.y - box.height, box.y - other.y - other.height, 0);
    if (x + y < least) [best, least] = [key, x + y];
  }
  return best;
}
