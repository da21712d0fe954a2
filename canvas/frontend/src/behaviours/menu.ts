// What can be done with something on the canvas, as a list that any part of the editor adds to, and which menu is open.
import { createStore } from "zustand/vanilla";
import type { Point } from "../model/document";
import { editor } from "../store";

export interface Spot {
  kind: "node" | "edge" | "canvas" | "selection" | "file"; // a selection: several things; file: of the bar
  nodes: string[]; // keys
  edges: string[];
  at: Point; // on the screen
  place: Point; // on the canvas
}

const SECTIONS = ["open", "edit", "arrange", "group", "run", "suggest", "file", "danger"] as const;
export type Section = (typeof SECTIONS)[number];

export interface Deed {
  id: string;
  label: string;
  section: Section;
  run: () => void;
  icon?: string;
  shortcut?: string; // as people read it: "Ctrl G"
  isDisabled?: boolean;
  why?: string; // it is disabled
  isChecked?: boolean; // of what is on or off
}

type Maker = (spot: Spot) => Deed[];
const makers = new Map<string, Maker>();

// `source` names the part that adds them: adding again replaces what it added. Returns what takes them out again.
export function addDeeds(source: string, make: Maker): () => void {
  makers.set(source, make);
  return () => {
    if (makers.get(source) === make) makers.delete(source);
  };
}

// What applies there, in sections of which none is empty.
export function deedsFor(spot: Spot): Deed[][] {
  const all = [...makers.values()].flatMap((make) => make(spot));
  return SECTIONS.map((section) => all.filter((deed) => deed.section === section)).filter((list) => list.length > 0);
}

export const menuStore = createStore<{ spot: Spot | null }>(() => ({ spot: null }));

export function openMenu(spot: Spot): void {
  menuStore.setState({ spot });
}

export function closeMenu(): void {
  menuStore.setState({ spot: null });
}

// What is chosen, as a menu there would be about it.
export function chosenSpot(at: Point, place: Point): Spot {
  const nodes = [...editor.getState().nodes];
  const edges = [...editor.getState().edges];
  const kind = nodes.length + edges.length > 1 ? "selection" : nodes.length ? "node" : edges.length ? "edge" : "canvas";
  return { kind, nodes, edges, at, place };
}
