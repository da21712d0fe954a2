// Where something is to be added that is yet to be picked: at the end of a connection, on an edge, or on empty space.
import { createStore } from "zustand/vanilla";
import type { Point } from "../model/document";
import { editor } from "../store";

export interface Drop {
  at: Point; // on the screen
  place: Point; // on the canvas
  from: string; // the node that a connection was pulled from, "" for none
  isForwards: boolean;
  edge?: string; // that it comes into
}

export const picking = createStore<{ drop: Drop | null }>(() => ({ drop: null }));

export function askWhat(drop: Drop): void {
  if (editor.getState().mayEdit) picking.setState({ drop });
}

export function endPicking(): void {
  picking.setState({ drop: null });
}

// The node whose connection is to lead somewhere that is yet to be found by its name, "" for none.
export const joining = createStore<{ from: string }>(() => ({ from: "" }));

export function askWhere(from: string): void {
  joining.setState({ from });
}
