// What is different between two canvases: element by element, field by field. Owns the comparison; draws nothing.
import { type Canvas, labelOf } from "./document";
import { isEqual, isObject, type Json, type JsonObject } from "./json";

export interface FieldChange {
  path: string[]; // such as data, config, path
  before: Json | undefined; // undefined: it was not there
  after: Json | undefined;
}

export interface Difference {
  what: "workflow" | "node" | "edge";
  how: "added" | "removed" | "changed" | "moved"; // moved: its position alone
  key: string; // of the node or the edge
  name: string;
  fields: FieldChange[];
}

export const HEAD = ["name", "description", "status"] as const;

// From `before` to `after`: the workflow itself, then nodes, then edges, each in the order of `after`, removed ones last.
export function differences(before: Canvas, after: Canvas): Difference[] {
  const head = HEAD.filter((key) => before[key] !== after[key]).map((key) => ({
    path: [key],
    before: before[key],
    after: after[key],
  }));
  const odd = fieldChanges({ ...before.odd }, { ...after.odd });
  const own = [...head, ...odd];
  const found: Difference[] = own.length
    ? [{ what: "workflow", how: "changed", key: "", name: after.name, fields: own }]
    : [];
  const names = new Map([...before.nodes, ...after.nodes].map((node) => [node.key, labelOf(node)]));
  const named = (key: string) => names.get(key) ?? key;
  return [
    ...found,
    ...compared("node", before.nodes, after.nodes, labelOf),
    ...compared("edge", before.edges, after.edges, (edge) => `${named(edge.source)} → ${named(edge.target)}`),
  ];
}

function compared<T extends { key: string; raw: JsonObject }>(
  what: Difference["what"],
  before: T[],
  after: T[],
  name: (item: T) => string,
): Difference[] {
  const old = new Map(before.map((item) => [item.key, item]));
  const current = new Set(after.map((item) => item.key));
  const found: Difference[] = [];
  for (const item of after) {
    const was = old.get(item.key);
    if (!was) found.push({ what, how: "added", key: item.key, name: name(item), fields: [] });
    else if (was.raw !== item.raw && !isEqual(was.raw, item.raw)) {
      const fields = fieldChanges(was.raw, item.raw);
      const isMoved = fields.every(({ path }) => path[0] === "position");
      found.push({ what, how: isMoved ? "moved" : "changed", key: item.key, name: name(item), fields });
    }
  }
  for (const item of before) {
    if (!current.has(item.key)) found.push({ what, how: "removed", key: item.key, name: name(item), fields: [] });
  }
  return found;
}

// Where two objects differ; arrays and everything that is no object are one field each.
export function fieldChanges(before: JsonObject, after: JsonObject): FieldChange[] {
  const found: FieldChange[] = [];
  const pending: { path: string[]; one: Json | undefined; other: Json | undefined }[] = [
    { path: [], one: before, other: after },
  ];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { path, one, other } = next;
    if (isEqual(one, other)) continue;
    if (isObject(one) && isObject(other)) {
      const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].reverse();
      for (const key of keys) pending.push({ path: [...path, key], one: one[key], other: other[key] });
    } else found.push({ path, before: one, after: other });
  }
  return found;
}

// How many of what: "2 added, 1 changed"; "" for none.
export function summary(list: Difference[]): string {
  return (["added", "removed", "changed", "moved"] as const)
    .map((how) => [list.filter((one) => one.how === how).length, how] as const)
    .filter(([count]) => count)
    .map(([count, how]) => `${count} ${how}`)
    .join(", ");
}

const SECRET =
  /(password|passwd|passphrase|secret|token|apikey|privatekey|credentials?|authorization|accesskey|cookie)$/;
const OPEN = /^(\$\{.*\}|\{%.*%\}|.*secret:[0-9a-f-]{36}.*|\*\*\*|)$/s;
const LONGEST = 160;

// A value as it may be shown: cut, and nothing that was typed in as a secret.
export function spoken(path: string[], value: Json | undefined): string {
  if (value === undefined) return "not there";
  const text = JSON.stringify(masked(path.at(-1) ?? "", value)) ?? "";
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length.toLocaleString("en")} characters)` : text;
}

function masked(name: string, value: Json): Json {
  if (Array.isArray(value)) return value.map((part) => masked(name, part));
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, masked(key, part)]));
  if (typeof value === "string" && value.includes("://")) {
    return value.replace(/(:\/\/[^\s/:@]*):[^\s/@]+@/g, "$1:***@");
  }
  const isSecret = SECRET.test(name.toLowerCase().replace(/[^a-z0-9]/g, ""));
  if (!isSecret || value === null || typeof value === "boolean") return value;
  return typeof value === "string" && OPEN.test(value) ? value : "***";
}
