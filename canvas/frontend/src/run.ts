// The run that is watched on the canvas: how each node fares, its lines, and how the connection is.

import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";

export interface Fate {
  status: string; // as /executions/{id}/states says it; "not run" for what a run that is over left out
  attempt: number;
  count: number; // of branches, items or visits that ended here
  milliseconds: number | null;
}

export interface Line {
  cursor: string;
  timestamp: string;
  node: string;
  level: string;
  message: string;
}

export interface Run {
  execution: string; // "" when none is watched
  status: string;
  version: number; // of the workflow that runs
  nodes: ReadonlyMap<string, Fate>;
  lines: Line[]; // the newest
  connection: "none" | "connecting" | "live" | "lost" | "over" | "refused";
  message: string;
}

export const NO_RUN: Run = {
  execution: "",
  status: "",
  version: 0,
  nodes: new Map(),
  lines: [],
  connection: "none",
  message: "",
};

export const runStore = createStore<Run>(() => NO_RUN);

export function useRun<T>(pick: (run: Run) => T): T {
  return useStoreWithEqualityFn(runStore, pick);
}
