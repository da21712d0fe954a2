// Connections that are suggested and not drawn: what was answered, which of them stand, and which one is looked at.
import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";
import type { Entry } from "./model/suggestions";

export interface Suggesting {
  state: "closed" | "asking" | "open" | "failed";
  message: string; // why it failed
  preserve: boolean;
  entries: Entry[]; // without those that were rejected
  reasoning: string;
  method: string; // model, or schema-matching
  confidence: number;
  alerts: string[];
  leftOut: string[];
  at: string; // id of the one that is looked at
}

export const NOTHING_SUGGESTED: Suggesting = {
  state: "closed",
  message: "",
  preserve: true,
  entries: [],
  reasoning: "",
  method: "",
  confidence: 0,
  alerts: [],
  leftOut: [],
  at: "",
};

export const suggestingStore = createStore<Suggesting>(() => NOTHING_SUGGESTED);

export function useSuggesting<T>(pick: (state: Suggesting) => T): T {
  return useStoreWithEqualityFn(suggestingStore, pick);
}
