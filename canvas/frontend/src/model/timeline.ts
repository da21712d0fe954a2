// A run as bars over time: a row for each node, opened a row for each of its items. Owns rows, bars and the scale;
// refuses to draw.
import { type Attempt, type Item, isOpen, isUnwell, type Standing } from "./run";

export interface Bar {
  from: number; // ms since 1970
  to: number;
  status: string;
  isWaiting: boolean; // nothing is at work
  title: string;
}

export interface Row {
  key: string;
  state: string;
  item: string; // key of an item, "" for the row of the node
  name: string;
  status: string;
  count: number;
  failed: number;
  isReused: boolean; // taken over from an earlier run, whose time is none of this one's
  isOpen: boolean; // its items are listed below
  bars: () => Bar[]; // asked for only where they are seen
}

export interface Span {
  from: number;
  to: number;
}

const FEWEST = 400; // parts of the whole that a row of many items is merged into at most
const WAITS = new Set(["Wait", "WaitForSignal", "Workflow"]);

// `waits`: whether an activity only waits for people. `named`: what a state is called. `opened`: whose items are shown.
export function rowsOf(
  items: ReadonlyMap<string, Item[]>,
  attempts: ReadonlyMap<number, Attempt>,
  standing: Standing[],
  now: number,
  {
    named,
    waits,
    opened,
    hidden,
  }: {
    named: (state: string) => string;
    waits: (activity: string) => boolean;
    opened: ReadonlySet<string>;
    hidden: (attempt: Attempt | Standing) => boolean;
  },
): Row[] {
  const places = new Map<string, Standing>();
  for (const one of standing) places.set(`${one.state} ${one.branch} ${one.visit}`, one);
  const order = [...items].sort(([, a], [, b]) => (a[0]?.start ?? Infinity) - (b[0]?.start ?? Infinity));
  const whole = spanOf(items, now);
  const rows: Row[] = [];
  for (const [state, list] of order) {
    const first = list[0];
    if (!first) continue;
    const one = first.ids.length ? attempts.get(first.ids[0] ?? 0) : places.get(`${state} ${first.key}`);
    if (one && hidden(one)) continue;
    const barsIn = (item: Item) =>
      item.isReused
        ? [reused(item, whole.from)]
        : barsOf(item, attempts, places.get(`${state} ${item.key}`), now, waits);
    const isMany = list.length > 1;
    const isShown = isMany && opened.has(state);
    const failed = list.filter((item) => isUnwell(item.status)).length;
    const open = list.find((item) => isOpen(item.status));
    rows.push({
      key: state,
      state,
      item: "",
      name: named(state),
      status: open?.status ?? (failed ? "failed" : first.status),
      count: list.length,
      failed,
      isReused: list.every((item) => item.isReused),
      isOpen: isShown,
      bars: () => (isMany ? merged(list.flatMap(barsIn), (whole.to - whole.from) / FEWEST) : barsIn(first)),
    });
    if (!isShown) continue;
    for (const item of list) {
      rows.push({
        key: `${state} ${item.key}`,
        state,
        item: item.key,
        name: item.name || `visit ${item.visit}`,
        status: item.status,
        count: 1,
        failed: isUnwell(item.status) ? 1 : 0,
        isReused: item.isReused,
        isOpen: false,
        bars: () => barsIn(item),
      });
    }
  }
  return rows;
}

function barsOf(
  item: Item,
  attempts: ReadonlyMap<number, Attempt>,
  standing: Standing | undefined,
  now: number,
  waits: (activity: string) => boolean,
): Bar[] {
  const bars: Bar[] = [];
  let end: number | null = null;
  const list = item.ids.flatMap((id) => attempts.get(id) ?? []).sort((a, b) => a.attempt - b.attempt);
  for (const { start, milliseconds, status, attempt, type, activity, error } of list) {
    // Between two attempts it waited to be tried again.
    if (end !== null && start > end) bars.push(pause(end, start));
    const from = Math.max(start, end ?? start);
    const to = Math.max(from, start + milliseconds);
    const title = `attempt ${attempt}, ${status}${error && `: ${error}`}`;
    bars.push({ from, to, status, isWaiting: WAITS.has(type) || waits(activity), title });
    end = to;
  }
  if (standing) {
    const from = Math.max(end ?? 0, standing.start ?? end ?? now);
    const isWaiting = standing.status !== "running";
    const title = `attempt ${standing.attempt}, ${standing.status}${standing.waitsFor && ` for ${standing.waitsFor}`}`;
    bars.push({ from: Math.min(from, now), to: now, status: standing.status, isWaiting, title });
  }
  return bars;
}

function reused({ status }: Item, at: number): Bar {
  return { from: at, to: at, status, isWaiting: false, title: "reused from an earlier run" };
}

function pause(from: number, to: number): Bar {
  return { from, to, status: "waiting", isWaiting: true, title: "waits to be tried again" };
}

// Bars of one kind that lie closer than `gap` become one: a thousand items are no more than can be seen.
function merged(bars: Bar[], gap: number): Bar[] {
  const kinds = new Map<string, Bar[]>();
  for (const bar of [...bars].sort((a, b) => a.from - b.from)) {
    const kind = isUnwell(bar.status) ? "failed" : bar.isWaiting ? "waiting" : bar.status;
    const list = kinds.get(kind) ?? [];
    kinds.set(kind, list);
    const last = list.at(-1);
    if (last && bar.from - last.to <= gap) {
      last.to = Math.max(last.to, bar.to);
    } else list.push({ ...bar, title: "" });
  }
  const order = ["waiting", "success", "running"]; // failures lie on top
  return [...kinds]
    .sort(([a], [b]) => ((order.indexOf(a) + 9) % 9) - ((order.indexOf(b) + 9) % 9))
    .flatMap(([, list]) => list);
}

// From the first beginning to the last end; what still goes on ends now, and what was reused took no time of this run.
export function spanOf(items: ReadonlyMap<string, Item[]>, now: number): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const list of items.values()) {
    for (const { start, milliseconds, status, isReused } of list) {
      if (start === null || isReused) continue;
      from = Math.min(from, start);
      to = Math.max(to, isOpen(status) ? now : start + (milliseconds ?? 0));
    }
  }
  return to >= from ? { from, to: Math.max(to, from + 1) } : { from: now, to: now + 1 };
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000];
const LARGER = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1440, 2880, 7200, 14400].map((minutes) => minutes * 60_000);

// Round moments, as ms after `zero`, of which about `wanted` fall into the view.
export function ticks(view: Span, zero: number, wanted: number): number[] {
  const step = [...STEPS, ...LARGER].find((one) => (view.to - view.from) / one <= wanted) ?? 1440 * 60_000;
  const list: number[] = [];
  for (let at = Math.ceil((view.from - zero) / step) * step; zero + at <= view.to && list.length < 100; at += step) {
    list.push(at);
  }
  return list;
}

// The view so much larger (`factor` < 1: closer), with the moment `at` staying where it is, within the whole.
export function zoomed(view: Span, whole: Span, factor: number, at: number): Span {
  const size = Math.max(5, Math.min((view.to - view.from) * factor, whole.to - whole.from));
  const share = (at - view.from) / (view.to - view.from);
  return moved({ from: at - share * size, to: at + (1 - share) * size }, whole, 0);
}

export function moved(view: Span, whole: Span, by: number): Span {
  const size = Math.min(view.to - view.from, whole.to - whole.from);
  const from = Math.max(whole.from, Math.min(view.from + by, whole.to - size));
  return { from, to: from + size };
}
