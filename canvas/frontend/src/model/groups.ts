// Groups: a node of type "group" and the nodes that name it. Owns who belongs to which, where the frame runs, and what
// a collapsed one stands for; a frame has no place of its own, so it can never lie beside its members.
import { remove, setNodeKey, withKey } from "./changes";
import {
  type Canvas,
  type CanvasEdge,
  type CanvasNode,
  dataOf,
  free,
  kindOf,
  type Point,
  placeOf,
  SIZE,
  sizeOf,
} from "./document";
import { textOr } from "./json";

export interface Box extends Point {
  width: number;
  height: number;
}

export const PADDING = 24;
export const TITLE = 32; // height of the title above the members

export function isCollapsed(group: CanvasNode): boolean {
  return dataOf(group).collapsed === true;
}

// The members of each group that is there, in drawing order; a group that nobody names has none.
export function membersOf(canvas: Canvas): Map<string, CanvasNode[]> {
  const members = new Map<string, CanvasNode[]>();
  for (const node of canvas.nodes) if (kindOf(node) === "group") members.set(node.key, []);
  if (members.size === 0) return members;
  for (const node of canvas.nodes) if (kindOf(node) !== "group") members.get(groupOf(node))?.push(node);
  return members;
}

// The id of the group that the node names, whether it is there or not.
export function groupOf(node: CanvasNode): string {
  return textOr(dataOf(node).group);
}

// Where each group is drawn: around its members with the title above, or as one node where the first of them begins.
export function frames(canvas: Canvas): Map<string, Box> {
  const found = new Map<string, Box>();
  const members = membersOf(canvas);
  if (members.size === 0) return found;
  const index = new Map(canvas.nodes.map((node, at) => [node.key, at]));
  for (const node of canvas.nodes) {
    const inside = members.get(node.key);
    if (inside) found.set(node.key, frame(node, inside, index));
  }
  return found;
}

function frame(group: CanvasNode, members: CanvasNode[], index: ReadonlyMap<string, number>): Box {
  if (members.length === 0) return { ...placeOf(group, index.get(group.key)), ...SIZE };
  const { x, y, width, height } = around(members.map((node) => boxOf(node, index.get(node.key))));
  if (isCollapsed(group)) return { x, y, ...SIZE };
  return { x: x - PADDING, y: y - PADDING - TITLE, width: width + 2 * PADDING, height: height + 2 * PADDING + TITLE };
}

export function boxOf(node: CanvasNode, index = 0): Box {
  return { ...placeOf(node, index), ...sizeOf(node) };
}

// The smallest box around these, of which there is at least one.
export function around(boxes: Box[]): Box {
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

// Puts these nodes into a group of their own; those that were in another leave it. Groups are not put into groups.
export function group(canvas: Canvas, chosen: ReadonlySet<string>, label: string): { canvas: Canvas; key: string } {
  const inside = canvas.nodes.filter((node) => chosen.has(node.key) && kindOf(node) !== "group");
  if (inside.length === 0) return { canvas, key: "" };
  const key = free("group", new Set(canvas.nodes.map((node) => node.key)));
  const position = { ...placeOf(inside[0] as CanvasNode) };
  const made: CanvasNode = { key, raw: { id: key, type: "group", position, data: { label } } };
  const joined = join(canvas, new Set(inside.map((node) => node.key)), key);
  return { canvas: { ...joined, nodes: [made, ...joined.nodes] }, key };
}

// Lets these nodes belong to the group, or to none where it is "". A group that is left by the last one goes.
export function join(canvas: Canvas, keys: ReadonlySet<string>, group: string): Canvas {
  const nodes = canvas.nodes.map((node) => {
    if (!keys.has(node.key) || kindOf(node) === "group" || groupOf(node) === group) return node;
    return { ...node, raw: { ...node.raw, data: withKey(dataOf(node), "group", group || undefined) } };
  });
  return withoutEmptied(canvas, { ...canvas, nodes });
}

// Takes the groups away and leaves their members.
export function ungroup(canvas: Canvas, groups: ReadonlySet<string>): Canvas {
  const members = canvas.nodes.filter((node) => kindOf(node) !== "group" && groups.has(groupOf(node)));
  const freed = join(canvas, new Set(members.map((node) => node.key)), "");
  const gone = canvas.nodes.filter((node) => kindOf(node) === "group" && groups.has(node.key));
  return remove(freed, new Set(gone.map((node) => node.key)), new Set());
}

export function collapse(canvas: Canvas, key: string, isClosed: boolean): Canvas {
  return setNodeKey(canvas, key, "collapsed", isClosed || undefined);
}

// Removes nodes with the members of groups among them, and groups whose last member goes.
export function removeWhole(canvas: Canvas, nodes: ReadonlySet<string>, edges: ReadonlySet<string>): Canvas {
  return withoutEmptied(canvas, remove(canvas, withMembers(canvas, nodes), edges));
}

function withoutEmptied(before: Canvas, after: Canvas): Canvas {
  const had = membersOf(before);
  if (had.size === 0) return after;
  const emptied = [...membersOf(after)].filter(([key, now]) => now.length === 0 && (had.get(key)?.length ?? 0) > 0);
  return emptied.length ? remove(after, new Set(emptied.map(([key]) => key)), new Set()) : after;
}

// These nodes, and those that belong to a group among them.
export function withMembers(canvas: Canvas, keys: ReadonlySet<string>): Set<string> {
  const all = new Set(keys);
  for (const [key, members] of membersOf(canvas)) {
    if (keys.has(key)) for (const node of members) all.add(node.key);
  }
  return all;
}

// New places with those of groups as the places of their members; a member that has a new place itself keeps that.
export function carried(canvas: Canvas, places: ReadonlyMap<string, Point>): Map<string, Point> {
  const all = new Map(places);
  const members = membersOf(canvas);
  if (![...places.keys()].some((key) => members.has(key))) return all;
  const before = frames(canvas);
  const index = new Map(canvas.nodes.map((node, at) => [node.key, at]));
  for (const [key, to] of places) {
    const [from, inside] = [before.get(key), members.get(key)];
    if (!from || !inside) continue;
    for (const node of inside) {
      if (places.has(node.key)) continue;
      const at = placeOf(node, index.get(node.key));
      all.set(node.key, { x: at.x + to.x - from.x, y: at.y + to.y - from.y });
    }
  }
  return all;
}

// For each node that is not drawn the collapsed group that stands for it.
export function hidden(canvas: Canvas): Map<string, string> {
  const found = new Map<string, string>();
  const closed = new Set(
    canvas.nodes.filter((node) => kindOf(node) === "group" && isCollapsed(node)).map((node) => node.key),
  );
  if (closed.size === 0) return found;
  for (const node of canvas.nodes) {
    if (kindOf(node) !== "group" && closed.has(groupOf(node))) found.set(node.key, groupOf(node));
  }
  return found;
}

export interface Bundle {
  source: string;
  target: string;
  edges: CanvasEdge[]; // one or more; the first gives it its key
}

// The edges as they are drawn: what is inside a collapsed group is left out, and what leads to it leads to the group,
// where several from or to the same node become one line.
export function bundled(edges: CanvasEdge[], within: ReadonlyMap<string, string>): Bundle[] {
  if (within.size === 0) return edges.map((edge) => ({ source: edge.source, target: edge.target, edges: [edge] }));
  const found: Bundle[] = [];
  const between = new Map<string, Bundle>();
  for (const edge of edges) {
    const [source, target] = [within.get(edge.source) ?? edge.source, within.get(edge.target) ?? edge.target];
    const isRedirected = source !== edge.source || target !== edge.target;
    if (isRedirected && source === target) continue;
    const pair = JSON.stringify([source, target]);
    const known = isRedirected ? between.get(pair) : undefined;
    if (known) known.edges.push(edge);
    else {
      const made = { source, target, edges: [edge] };
      if (isRedirected) between.set(pair, made);
      found.push(made);
    }
  }
  return found;
}
