// The run that is watched on the canvas: how each node fares, its lines, what it waits for, and how the connection is.

import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";
import type { JsonObject } from "./model/json";
import type { Attempt, Fate, Item, Standing } from "./model/run";
import type { Way } from "./model/ways";

export interface Line {
  cursor: string;
  timestamp: string;
  node: string;
  level: string;
  message: string;
}

export interface Gate {
  id: string;
  state: string;
  subject: string;
  description: string;
  required: number;
  votes: { user: string; approve: boolean; reason: string }[];
  expiresAt: string;
}

export interface Progress {
  percent: number;
  message: string;
}

export interface Run {
  execution: string; // "" when none is watched
  status: string;
  version: number; // of the workflow that runs
  facts: JsonObject; // the execution as the server tells it
  attempts: ReadonlyMap<number, Attempt>; // ended, by id
  standing: Standing[];
  // States that a new run can begin at, as the server says; null before it was asked, at the end of the run.
  beginnings: ReadonlySet<string> | null;
  isCut: boolean; // there are more attempts than are kept here
  items: ReadonlyMap<string, Item[]>; // by state
  nodes: ReadonlyMap<string, Fate>; // by node
  ways: ReadonlyMap<string, Way>; // by edge
  progress: ReadonlyMap<string, Progress>; // by node
  gates: Gate[]; // that somebody must decide
  lines: Line[]; // the newest
  isPausing: boolean; // a pause was asked for here, and what runs has not ended yet
  connection: "none" | "connecting" | "live" | "lost" | "over" | "refused";
  message: string;
  tab: { node: string; at: number } | null; // whose run is to be shown beside the canvas
}

export const NO_RUN: Run = {
  execution: "",
  status: "",
  version: 0,
  facts: {},
  attempts: new Map(),
  standing: [],
  beginnings: null,
  isCut: false,
  items: new Map(),
  nodes: new Map(),
  ways: new Map(),
  progress: new Map(),
  gates: [],
  lines: [],
  isPausing: false,
  connection: "none",
  message: "",
  tab: null,
};

export const runStore = createStore<Run>(() => NO_RUN);

export function useRun<T>(pick: (run: Run) => T, isEqual: (one: T, other: T) => boolean = Object.is): T {
  return useStoreWithEqualityFn(runStore, pick, isEqual);
}

const OVER = new Set(["success", "failed", "cancelled", "timed_out"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

// What the visitor may do with runs; said by the page.
export const rights = { mayOperate: false, mayApprove: false };
