// From the states of a run, as the server lists them, to how each node fares. Owns what attempts, items and fates are;
// refuses to ask anybody.
import { isObject, type Json, type JsonObject, objectOr, textOr } from "./json";

// One attempt that has ended.
export interface Attempt {
  id: number;
  state: string;
  type: string;
  activity: string;
  branch: string;
  place: string; // "" at the top, Fan/left in a branch, Each/* in an item
  item: number | null;
  name: string; // of the branch
  visit: number;
  attempt: number;
  status: string;
  start: number; // ms since 1970
  milliseconds: number;
  error: string;
  isReused: boolean;
}

// Where a branch stands now.
export interface Standing {
  state: string;
  activity: string;
  branch: string;
  place: string;
  item: number | null;
  name: string;
  visit: number;
  attempt: number;
  status: string;
  start: number | null; // ms since 1970
  waitsFor: string;
  signal: string;
  wakeAt: string;
}

// One visit of one branch to a state: all its attempts.
export interface Item {
  key: string;
  branch: string;
  name: string; // "#3", or the branch's name
  visit: number;
  status: string;
  attempts: number; // how many ended
  attempt: number; // the newest
  start: number | null;
  milliseconds: number | null; // null before it has begun
  error: string;
  isReused: boolean; // all of it was taken over from an earlier run
  ids: number[]; // of its ended attempts
}

export interface Fate {
  status: string; // as /executions/{id}/states says it; "skipped" and "not run" for what did not run
  attempt: number;
  count: number; // of items
  ended: number;
  failed: number;
  milliseconds: number | null;
  isReused: boolean; // all of it was taken over from an earlier run
}

const UNWELL = ["failed", "timed_out", "interrupted", "cancelled"];
const WORST = ["running", "ready", "waiting", "held", ...UNWELL, "success"];

export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function readAttempt(sent: JsonObject): Attempt {
  const error = objectOr(sent.error);
  return {
    ...placeOf(sent),
    id: Number(sent.id),
    type: textOr(sent.type),
    status: textOr(sent.status),
    start: Number(sent.startedMs),
    milliseconds: Number(sent.durationMs) || 0,
    error: textOr(error.message) && `${textOr(error.name)}: ${textOr(error.message)}`,
    isReused: sent.reused === true,
  };
}

export function readStanding(sent: JsonObject): Standing {
  return {
    ...placeOf(sent),
    status: textOr(sent.status),
    start: typeof sent.sinceMs === "number" ? sent.sinceMs : null,
    waitsFor: textOr(sent.waitingFor),
    signal: textOr(sent.signal),
    wakeAt: textOr(sent.wakeAt),
  };
}

function placeOf(sent: JsonObject) {
  const branch = objectOr(sent.branch);
  return {
    state: textOr(sent.state),
    activity: textOr(sent.activity),
    branch: textOr(branch.id),
    place: textOr(branch.path),
    item: typeof branch.index === "number" ? branch.index : null,
    name: textOr(branch.name),
    visit: Number(sent.visit) || 1,
    attempt: Number(sent.attempt) || 1,
  };
}

// The items of every state, in the order in which they began. A second attempt begins when the one before it ended.
export function itemsOf(attempts: Iterable<Attempt>, standing: Standing[], now: number): Map<string, Item[]> {
  const states = new Map<string, Map<string, Item>>();
  const itemOf = (one: Attempt | Standing): Item => {
    const items = states.get(one.state) ?? new Map<string, Item>();
    states.set(one.state, items);
    const key = `${one.branch} ${one.visit}`;
    let item = items.get(key);
    if (!item) {
      const name = one.item === null ? (one.name === "root" ? "" : one.name) : `#${one.item + 1}`;
      const { branch, visit } = one;
      item = {
        key,
        branch,
        name,
        visit,
        status: "",
        attempts: 0,
        attempt: 0,
        start: null,
        milliseconds: null,
        error: "",
        isReused: true,
        ids: [],
      };
      items.set(key, item);
    }
    return item;
  };
  for (const one of attempts) {
    const item = itemOf(one);
    item.ids.push(one.id);
    item.isReused = item.isReused && one.isReused;
    item.attempts += 1;
    item.start = Math.min(item.start ?? one.start, one.start);
    item.milliseconds = (item.milliseconds ?? 0) + one.milliseconds;
    if (one.attempt >= item.attempt) {
      item.attempt = one.attempt;
      item.status = one.status;
      item.error = one.error;
    }
  }
  for (const one of standing) {
    const item = itemOf(one);
    item.attempt = one.attempt;
    item.status = one.status;
    item.error = "";
    item.isReused = false;
    if (one.start !== null) {
      item.start = item.start ?? one.start;
      item.milliseconds = Math.max(0, now - item.start);
    }
  }
  const order = (one: Item) => one.start ?? Number.POSITIVE_INFINITY;
  return new Map(
    [...states].map(([state, items]) => [state, [...items.values()].sort((a, b) => order(a) - order(b))] as const),
  );
}

export function isUnwell(status: string): boolean {
  return UNWELL.includes(status);
}

export function isOpen(status: string): boolean {
  return ["running", "ready", "waiting", "held"].includes(status);
}

// How a node fares whose items these are: what still goes on tells more than what has ended, a failure more than
// success; of several visits of one branch the last counts.
export function fateOf(items: Item[]): Fate {
  const last = new Map<string, Item>();
  for (const item of items) last.set(item.branch, item);
  const statuses = new Set([...last.values()].map((item) => item.status));
  const first = items[0];
  const status = WORST.find((one) => statuses.has(one)) ?? first?.status ?? "";
  return {
    status,
    attempt: items.length === 1 && first ? first.attempt : 1,
    count: items.length,
    ended: items.filter((item) => !isOpen(item.status)).length,
    failed: items.filter((item) => isUnwell(item.status)).length,
    milliseconds: last.size > 1 ? spanOf(items) : sumOf(items),
    isReused: items.every((item) => item.isReused),
  };
}

function spanOf(items: Item[]): number | null {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { start, milliseconds } of items) {
    if (start === null) continue;
    from = Math.min(from, start);
    to = Math.max(to, start + (milliseconds ?? 0));
  }
  return to >= from ? to - from : null;
}

function sumOf(items: Item[]): number | null {
  const known = items.filter((item) => item.milliseconds !== null);
  return known.length ? known.reduce((sum, item) => sum + (item.milliseconds ?? 0), 0) : null;
}

export function silent(status: "skipped" | "not run"): Fate {
  return { status, attempt: 1, count: 1, ended: 0, failed: 0, milliseconds: null, isReused: false };
}

const KEPT = /\/artifacts\/([0-9a-f-]{36})\/(.+)$/;

// The files that an output names under one of its keys, as reports have them, and where REST answers them.
export function filesIn(output: Json | undefined): { name: string; href: string }[] {
  return Object.values(objectOr(output)).flatMap((value) => {
    const [, execution, name] = typeof value === "string" && value.length < 4096 ? (KEPT.exec(value) ?? []) : [];
    if (!execution || !name) return [];
    return [{ name, href: `/executions/${execution}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}` }];
  });
}
