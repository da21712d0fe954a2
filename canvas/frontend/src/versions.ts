// Which look at versions is open: the history, or two canvases side by side. Owns nothing of the canvases themselves.
import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";
import type { Canvas } from "./model/document";

export interface Pair {
  title: string;
  before: { name: string; canvas: Canvas };
  after: { name: string; canvas: Canvas };
}

export type Look = { kind: "none" } | { kind: "history" } | { kind: "pair"; pair: Pair };

export const looks = createStore<Look>(() => ({ kind: "none" }) as Look);

export function useLook(): Look {
  return useStoreWithEqualityFn(looks, (look) => look);
}

export function openHistory(): void {
  looks.setState({ kind: "history" }, true);
}

export function showPair(pair: Pair): void {
  looks.setState({ kind: "pair", pair }, true);
}

export function closeLook(): void {
  looks.setState({ kind: "none" }, true);
}
