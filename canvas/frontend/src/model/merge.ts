// Brings together what two people made of one canvas. Owns the three-way merge; refuses to choose where both changed
// the same: that is a clash, and somebody says which of the two it is to be.

import { HEAD } from "./differences";
import { type Canvas, type CanvasEdge, type CanvasNode, free, labelOf } from "./document";
import { isEqual, isObject, type Json, type JsonObject } from "./json";

export type Side = "mine" | "theirs";

export interface Clash {
  id: string; // the same in every merge of these three
  what: "workflow" | "node" | "edge";
  key: string;
  name: string;
  path: string[]; // empty: the element as a whole
  base: Json | undefined; // undefined: it is not there
  mine: Json | undefined;
  theirs: Json | undefined;
}

type Spot = Omit<Clash, "id">; // one value in the three canvases

const WORKFLOW = { what: "workflow", key: "", name: "the workflow" } as const;

export interface Merged {
  canvas: Canvas; // where nothing is chosen yet, as mine has it
  clashes: Clash[];
  renamed: { from: string; to: string }[]; // nodes of mine whose id theirs gave to another new node
}

interface Element {
  key: string;
  raw: JsonObject;
}

export function merge(base: Canvas, mine: Canvas, theirs: Canvas, chosen: ReadonlyMap<string, Side>): Merged {
  const { canvas: own, renamed } = withFreeKeys(base, mine, theirs);
  const merger = new Merger(base, own, theirs, chosen);
  return { canvas: merger.merged(), clashes: merger.clashes, renamed };
}

type Three<T> = { base: T; mine: T; theirs: T };

class Merger {
  readonly clashes: Clash[] = [];
  private readonly all: Three<Canvas>;
  private readonly nodes: Three<Map<string, CanvasNode>>;
  private readonly edges: Three<Map<string, CanvasEdge>>;
  private readonly chosen: ReadonlyMap<string, Side>;
  private readonly names: Map<string, string>;

  constructor(base: Canvas, mine: Canvas, theirs: Canvas, chosen: ReadonlyMap<string, Side>) {
    this.all = { base, mine, theirs };
    this.nodes = { base: byKey(base.nodes), mine: byKey(mine.nodes), theirs: byKey(theirs.nodes) };
    this.edges = { base: byKey(base.edges), mine: byKey(mine.edges), theirs: byKey(theirs.edges) };
    this.chosen = chosen;
    this.names = new Map([base, theirs, mine].flatMap((one) => one.nodes.map((node) => [node.key, labelOf(node)])));
  }

  merged(): Canvas {
    const { base, mine, theirs } = this.all;
    const head = Object.fromEntries(
      HEAD.map((key) => {
        const value = this.value({ ...WORKFLOW, path: [key], base: base[key], mine: mine[key], theirs: theirs[key] });
        return [key, String(value)];
      }),
    ) as Pick<Canvas, (typeof HEAD)[number]>;
    const oddOf = (key: "nodes" | "edges"): Json[] => {
      const value = this.value({
        ...WORKFLOW,
        path: ["odd", key],
        base: base.odd[key],
        mine: mine.odd[key],
        theirs: theirs.odd[key],
      });
      return Array.isArray(value) ? value : [];
    };
    const odd = { nodes: oddOf("nodes"), edges: oddOf("edges") };
    const nodes = this.keys(this.nodes).flatMap((key) => this.node(key));
    const there = new Set(nodes.map((node) => node.key));
    const edges = this.keys(this.edges).flatMap((key) => this.edge(key, there));
    return { ...head, nodes, edges, odd };
  }

  // All keys in the order of the side that changed it, what only the other one has behind what it follows there.
  private keys<T>(of: Three<Map<string, T>>): string[] {
    const order = { base: [...of.base.keys()], mine: [...of.mine.keys()], theirs: [...of.theirs.keys()] };
    const [spine, other] = isEqual(order.base, order.theirs) ? [order.mine, order.theirs] : [order.theirs, order.mine];
    const followers = new Map<string, string[]>();
    const own = new Set(spine);
    let last = "";
    for (const key of other) {
      if (own.has(key)) last = `at ${key}`;
      else followers.set(last, [...(followers.get(last) ?? []), key]);
    }
    return [...(followers.get("") ?? []), ...spine.flatMap((key) => [key, ...(followers.get(`at ${key}`) ?? [])])];
  }

  private node(key: string): CanvasNode[] {
    const [base, mine, theirs] = [this.nodes.base.get(key), this.nodes.mine.get(key), this.nodes.theirs.get(key)];
    const name = this.names.get(key) ?? key;
    const spot: Spot = { what: "node", key, name, path: [], base: base?.raw, mine: mine?.raw, theirs: theirs?.raw };
    const isRemoved = base && (mine === undefined) !== (theirs === undefined);
    const isClash = isRemoved && this.isUsed(key, mine ? "mine" : "theirs");
    const raw = isClash ? this.clash(spot) : this.value(spot);
    if (!isObject(raw)) return [];
    return [mine?.raw === raw ? mine : theirs?.raw === raw ? theirs : { key, raw }];
  }

  // Whether this side connected a node anew, which the other side removed.
  private isUsed(key: string, side: Side): boolean {
    return this.all[side].edges.some(
      (edge) => (edge.source === key || edge.target === key) && !isEqual(this.edges.base.get(edge.key)?.raw, edge.raw),
    );
  }

  private edge(key: string, there: ReadonlySet<string>): CanvasEdge[] {
    const [base, mine, theirs] = [this.edges.base.get(key), this.edges.mine.get(key), this.edges.theirs.get(key)];
    const one = mine ?? theirs;
    if (!one) return [];
    if (!mine || !theirs) {
      // What went with a node comes back with it, and what one side drew goes with a node that is gone.
      const [side, other] = mine ? (["mine", "theirs"] as const) : (["theirs", "mine"] as const);
      const ends = [one.source, one.target].filter((end) => this.nodes[side].has(end));
      if (ends.some((end) => !there.has(end))) return [];
      if (base && ends.some((end) => !this.nodes[other].has(end) && this.nodes.base.has(end))) return [one];
    }
    const name = `${this.names.get(one.source) ?? one.source} → ${this.names.get(one.target) ?? one.target}`;
    const raw = this.value({
      what: "edge",
      key,
      name,
      path: [],
      base: base?.raw,
      mine: mine?.raw,
      theirs: theirs?.raw,
    });
    if (!isObject(raw)) return [];
    if (mine?.raw === raw) return [mine];
    if (theirs?.raw === raw) return [theirs];
    const end = (side: "source" | "target") => (isEqual(raw[side], theirs?.raw[side]) ? theirs : mine)?.[side] ?? "";
    return [{ key, raw, source: end("source"), target: end("target") }];
  }

  private value(spot: Spot): Json | undefined {
    const { what, path, base, mine, theirs } = spot;
    if (mine === theirs || isEqual(mine, theirs)) return mine;
    if (isEqual(base, mine)) return theirs;
    if (isEqual(base, theirs)) return mine;
    if (path.length === 1 && path[0] === "position" && what === "node") return mine; // where it stands is no question
    if (path.length === 0 && isObject(base)) {
      // To move what somebody else removes says nothing against removing it.
      if (mine === undefined && isObject(theirs) && isMovedOnly(base, theirs)) return mine;
      if (theirs === undefined && isObject(mine) && isMovedOnly(base, mine)) return theirs;
    }
    if (!isObject(mine) || !isObject(theirs)) return this.clash(spot);
    const before = isObject(base) ? base : {};
    const merged: JsonObject = {};
    for (const part of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      const value = this.value({
        ...spot,
        path: [...path, part],
        base: before[part],
        mine: mine[part],
        theirs: theirs[part],
      });
      if (value !== undefined) merged[part] = value;
    }
    return merged;
  }

  private clash(spot: Spot): Json | undefined {
    const id = JSON.stringify([spot.what, spot.key, ...spot.path]);
    this.clashes.push({ id, ...spot });
    return this.chosen.get(id) === "theirs" ? spot.theirs : spot.mine;
  }
}

function byKey<T extends Element>(items: T[]): Map<string, T> {
  return new Map(items.map((item) => [item.key, item]));
}

function isMovedOnly(base: JsonObject, now: JsonObject): boolean {
  const { position: _, ...before } = base;
  const { position: __, ...after } = now;
  return isEqual(before, after);
}

// Two people who each add a step get one id from the palette, but mean two steps: mine is called something else then.
function withFreeKeys(base: Canvas, mine: Canvas, theirs: Canvas): { canvas: Canvas; renamed: Merged["renamed"] } {
  const names = renaming(base.nodes, mine.nodes, theirs.nodes);
  if (!names.size) return { canvas: mine, renamed: [] };
  const nodes = mine.nodes.map((node) => {
    const key = names.get(node.key) ?? node.key;
    const raw = withReferences(node.raw, names) as JsonObject;
    return raw === node.raw && key === node.key ? node : { key, raw: key === node.key ? raw : { ...raw, id: key } };
  });
  const moved = mine.edges.map((edge) => {
    const [source, target] = [names.get(edge.source) ?? edge.source, names.get(edge.target) ?? edge.target];
    const raw = withReferences(edge.raw, names) as JsonObject;
    if (raw === edge.raw && source === edge.source && target === edge.target) return edge;
    return { ...edge, source, target, raw: { ...raw, source, target } };
  });
  const edgeNames = renaming(base.edges, moved, theirs.edges);
  const edges = moved.map((edge) => {
    const key = edgeNames.get(edge.key);
    return key === undefined ? edge : { ...edge, key, raw: { ...edge.raw, id: key } };
  });
  return { canvas: { ...mine, nodes, edges }, renamed: [...names].map(([from, to]) => ({ from, to })) };
}

// What both added under one key although it is not the same, with a free key for mine.
function renaming<T extends Element>(base: T[], mine: T[], theirs: T[]): Map<string, string> {
  const before = new Set(base.map((item) => item.key));
  const others = byKey(theirs);
  const taken = new Set([...before, ...others.keys(), ...mine.map((item) => item.key)]);
  const names = new Map<string, string>();
  for (const item of mine) {
    const other = others.get(item.key);
    if (other && !before.has(item.key) && !isMovedOnly(other.raw, item.raw)) names.set(item.key, free(item.key, taken));
  }
  return names;
}

function withReferences(value: Json, names: ReadonlyMap<string, string>): Json {
  if (typeof value === "string") {
    return value.replace(/\$\{([^${}.]+)(?=\.output\b)/g, (whole, id: string) => {
      const name = names.get(id);
      return name === undefined ? whole : `\${${name}`;
    });
  }
  if (Array.isArray(value)) {
    const parts = value.map((part) => withReferences(part, names));
    return parts.some((part, index) => part !== value[index]) ? parts : value;
  }
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([key, part]) => [key, withReferences(part, names)] as const);
  return parts.some(([key, part]) => part !== value[key]) ? Object.fromEntries(parts) : value;
}
