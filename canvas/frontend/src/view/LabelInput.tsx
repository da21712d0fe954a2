// The label of a node, written on the canvas itself: Enter or leaving it keeps it, Esc puts the old one back.
import { type ReactElement, useEffect, useRef, useState } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { endRenaming, renaming } from "../behaviours/renaming";
import { setNodeKey } from "../model/changes";
import { type CanvasNode, dataOf } from "../model/document";
import { textOr } from "../model/json";
import { change } from "../store";

export function useIsRenamed(key: string): boolean {
  return useStoreWithEqualityFn(renaming, (state) => state.key === key);
}

export function LabelInput({ node }: { node: CanvasNode }): ReactElement {
  const before = textOr(dataOf(node).label);
  const [text, setText] = useState(before);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  function end(isKept: boolean): void {
    if (renaming.getState().key !== node.key) return; // leaving it is what ending it leads to as well
    if (isKept && text !== before) change((canvas) => setNodeKey(canvas, node.key, "label", text));
    const wrapper = input.current?.closest<HTMLElement>(".react-flow__node");
    endRenaming();
    wrapper?.focus({ preventScroll: true });
  }
  return (
    <input
      ref={input}
      className="label-input nodrag nopan"
      dir="auto"
      value={text}
      placeholder={node.key}
      aria-label="Label"
      // biome-ignore lint/a11y/noAutofocus: it was asked for, to type in
      autoFocus
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") end(true);
        if (event.key === "Escape") end(false);
      }}
    />
  );
}
