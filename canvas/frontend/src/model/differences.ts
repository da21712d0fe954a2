// What is different between two canvases: for people who must choose between them.
import { type Canvas, labelOf } from "./document";
import { isEqual, isObject, type Json, type JsonObject } from "./json";

export interface Difference {
  what: "node" | "connection" | "workflow";
  how: "added" | "removed" | "changed";
  name: string;
  fields: string[]; // paths that changed, such as data.config.path
}

// From `before` to `after`; moved nodes are told as changed in position.
export function differences(before: Canvas, after: Canvas): Difference[] {
  const found: Difference[] = [];
  const head = (["name", "description", "status"] as const).filter((key) => before[key] !== after[key]);
  if (head.length) found.push({ what: "workflow", how: "changed", name: after.name, fields: head });
  found.push(
    ...compared("node", before.nodes, after.nodes, labelOf),
    ...compared("connection", before.edges, after.edges, (edge) => `${edge.source} → ${edge.target}`),
  );
  return found;
}

function compared<T extends { key: string; raw: JsonObject }>(
  what: Difference["what"],
  before: T[],
  after: T[],
  name: (item: T) => string,
): Difference[] {
  const old = new Map(before.map((item) => [item.key, item]));
  const current = new Map(after.map((item) => [item.key, item]));
  const found: Difference[] = [];
  for (const item of after) {
    const was = old.get(item.key);
    if (!was) found.push({ what, how: "added", name: name(item), fields: [] });
    else if (!isEqual(was.raw, item.raw)) {
      found.push({ what, how: "changed", name: name(item), fields: paths(was.raw, item.raw) });
    }
  }
  for (const item of before) {
    if (!current.has(item.key)) found.push({ what, how: "removed", name: name(item), fields: [] });
  }
  return found;
}

function paths(before: Json | undefined, after: Json | undefined, at = ""): string[] {
  if (isEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [at];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => paths(before[key], after[key], at ? `${at}.${key}` : key));
}
