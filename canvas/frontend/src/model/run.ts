// From the states of a run, as the server lists them, to how each node fares.
import type { Fate } from "../run";
import { isObject, type JsonObject, textOr } from "./json";

// `ended`: attempts, oldest first; `running`: where branches stand now. When the run is over, `nodes` that never ran
// are told too.
export function fatesOf(
  ended: JsonObject[],
  running: JsonObject[],
  isOver: boolean,
  nodes: string[],
  now: number,
): Map<string, Fate> {
  const fates = new Map<string, Fate>();
  for (const run of ended) {
    const key = textOr(run.state);
    const before = fates.get(key);
    const isAgain = Number(run.attempt) > 1;
    fates.set(key, {
      status: before?.status === "failed" && run.status === "success" && !isAgain ? "failed" : textOr(run.status),
      attempt: Number(run.attempt) || 1,
      count: (before?.count ?? 0) + (isAgain ? 0 : 1),
      milliseconds:
        (isAgain || (before && before.count > 0) ? (before?.milliseconds ?? 0) : 0) + (Number(run.durationMs) || 0),
    });
  }
  for (const branch of isOver ? [] : running) {
    const key = textOr(branch.state);
    const before = fates.get(key);
    const since = Date.parse(textOr(branch.since));
    fates.set(key, {
      status: textOr(branch.status),
      attempt: Number(branch.attempt) || 1,
      count: before?.count ?? 1,
      milliseconds: Number.isFinite(since) ? Math.max(0, now - since) : null,
    });
  }
  for (const key of isOver ? nodes : []) {
    if (!fates.has(key)) fates.set(key, { status: "not run", attempt: 1, count: 1, milliseconds: null });
  }
  return fates;
}

export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
