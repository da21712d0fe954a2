// Which node's label or text is being written on the canvas itself.
import { createStore } from "zustand/vanilla";
import { editor } from "../store";

export const renaming = createStore<{ key: string }>(() => ({ key: "" }));

export function rename(key: string): void {
  if (editor.getState().mayEdit) renaming.setState({ key });
}

export function endRenaming(): void {
  renaming.setState({ key: "" });
}
