// What is certain to have run before a node: only that may be read there. As the server judges it, from the edges.
import { type Canvas, kindOf, labelOf } from "./document";
import { errorsOf } from "./errors";
import { objectOr } from "./json";

// The keys of the activity nodes that are certain to have run when this one begins, the nearest first.
export function certainBefore(canvas: Canvas, key: string): string[] {
  return [...ancestors(canvas, key)].filter(([, isCertain]) => isCertain).map(([node]) => node);
}

// Every node before this one, nearest first, with whether a condition cannot have skipped it.
export function ancestors(canvas: Canvas, key: string): Map<string, boolean> {
  const into = incoming(canvas);
  const kinds = new Map(canvas.nodes.map((node) => [node.key, kindOf(node)]));
  const found = new Map<string, boolean>();
  let level = [key];
  const seen = new Set(level);
  const order: string[] = [];
  while (level.length) {
    const above = new Set<string>();
    for (const one of level) for (const { source } of into.get(one) ?? []) if (!seen.has(source)) above.add(source);
    for (const one of above) seen.add(one);
    order.push(...above);
    level = [...above];
  }
  const { sure } = certain(canvas, key, into, new Set(order));
  for (const one of order) if (kinds.get(one) === "activity") found.set(one, sure.has(one));
  return found;
}

// The nodes before this one that have failed, and were caught, whenever it begins.
export function failedBefore(canvas: Canvas, key: string): string[] {
  const before = [...ancestors(canvas, key).keys()];
  const { failed } = certain(canvas, key, incoming(canvas), new Set(before));
  return before.filter((one) => failed.has(one));
}

interface Into {
  source: string;
  isConditional: boolean;
  isOnError: boolean;
}

function incoming(canvas: Canvas): Map<string, Into[]> {
  const into = new Map<string, Into[]>();
  const failing = caughtNodes(canvas);
  for (const edge of canvas.edges) {
    const isOnError = errorsOf(edge).length > 0;
    const data = { ...edge.raw, ...objectOr(edge.raw.data) };
    const isConditional =
      Boolean(data.condition) || data.relation_type === "conditional" || isOnError || failing.has(edge.source);
    const list = into.get(edge.target);
    if (list) list.push({ source: edge.source, isConditional, isOnError });
    else into.set(edge.target, [{ source: edge.source, isConditional, isOnError }]);
  }
  return into;
}

// Where an edge is taken on errors, the others of that node are taken only without one.
function caughtNodes(canvas: Canvas): Set<string> {
  return new Set(canvas.edges.filter((edge) => errorsOf(edge).length > 0).map((edge) => edge.source));
}

// A node that runs always - no condition on any way to it - is certain, and so is one that every way here goes through.
// Behind an edge taken on an error that is certain to have failed, which is the opposite.
function certain(
  canvas: Canvas,
  key: string,
  into: Map<string, Into[]>,
  before: Set<string>,
): { sure: Set<string>; failed: Set<string> } {
  const always = new Map<string, boolean>();
  const walk = sorted(canvas, into, new Set([...before, key]));
  const through = new Map<string, Set<string>>();
  const failed = new Map<string, Set<string>>();
  for (const one of walk) {
    const edges = into.get(one) ?? [];
    const hasCondition = edges.some((edge) => edge.isConditional);
    always.set(one, !hasCondition && edges.every((edge) => always.get(edge.source) ?? true));
    // Of what is taken: every way in goes through its own source, and through what is certain there.
    const ways = edges.filter((edge) => !hasCondition || edge.isConditional || !always.get(edge.source));
    through.set(
      one,
      shared(ways.map((way) => [...(through.get(way.source) ?? []), ...(way.isOnError ? [] : [way.source])])),
    );
    failed.set(
      one,
      shared(ways.map((way) => [...(failed.get(way.source) ?? []), ...(way.isOnError ? [way.source] : [])])),
    );
  }
  const own = through.get(key) ?? new Set();
  const caught = caughtNodes(canvas);
  const sure = new Set([...before].filter((one) => (always.get(one) && !caught.has(one)) || own.has(one)));
  return { sure, failed: failed.get(key) ?? new Set() };
}

function shared(lists: string[][]): Set<string> {
  const sets = lists.map((list) => new Set(list));
  return new Set([...(sets[0] ?? [])].filter((node) => sets.every((set) => set.has(node))));
}

// These nodes so that each comes after those that lead to it; what goes in a circle comes last, in any order.
function sorted(canvas: Canvas, into: Map<string, Into[]>, wanted: Set<string>): string[] {
  const left = new Map<string, number>();
  const next = new Map<string, string[]>();
  for (const one of wanted) {
    const sources = (into.get(one) ?? []).filter((edge) => wanted.has(edge.source));
    left.set(one, sources.length);
    for (const { source } of sources) {
      const list = next.get(source);
      if (list) list.push(one);
      else next.set(source, [one]);
    }
  }
  const order = canvas.nodes.map((node) => node.key).filter((one) => left.get(one) === 0);
  for (const one of order) {
    for (const other of next.get(one) ?? []) {
      const count = (left.get(other) ?? 1) - 1;
      left.set(other, count);
      if (count === 0) order.push(other);
    }
  }
  const done = new Set(order);
  return [...order, ...[...wanted].filter((one) => !done.has(one))];
}

// How a reference names the node: by its id, which is unique.
export function called(canvas: Canvas, key: string): string {
  const node = canvas.nodes.find((one) => one.key === key);
  return node ? labelOf(node) : key;
}
