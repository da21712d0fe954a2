// What keys do. The sheet of them is in the page's template; a key here that is not there is a mistake.
import { useEffect } from "react";
import { canvasNow, choose, editor, makeAgain, takeBack } from "../store";

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

export interface Deeds {
  save: () => void;
  remove: () => void;
  duplicate: () => void;
  arrange: () => void;
  fit: () => void;
  add: () => void;
  connect: () => void;
  find: () => void;
  run: () => void;
  problems: () => void;
}

export function useKeyboard(deeds: Deeds): void {
  useEffect(() => {
    function press(event: KeyboardEvent): void {
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const isCommand = event.ctrlKey || event.metaKey;
      const key = event.key.toLowerCase();
      if (isCommand && key === "s") act(event, deeds.save);
      if (event.defaultPrevented || isTyping(event.target)) return;
      if (isCommand) {
        if (key === "z") act(event, event.shiftKey ? makeAgain : takeBack);
        else if (key === "y") act(event, makeAgain);
        else if (key === "d") act(event, deeds.duplicate);
        else if (key === "a") act(event, chooseAll);
        else if (key === "f") act(event, deeds.find);
        else if (key === "enter") act(event, deeds.run);
        return;
      }
      if (event.altKey) return;
      if (key === "delete" || key === "backspace") act(event, deeds.remove);
      else if (key === "escape") choose([]);
      else if (key === "a") act(event, deeds.add);
      else if (key === "c") act(event, deeds.connect);
      else if (key === "f") act(event, deeds.fit);
      else if (key === "l") act(event, deeds.arrange);
      else if (key === "p") act(event, deeds.problems);
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [deeds]);
}

function act(event: KeyboardEvent, deed: () => void): void {
  event.preventDefault();
  deed();
}

function chooseAll(): void {
  if (!editor.getState().workflow) return;
  choose(
    canvasNow().nodes.map((node) => node.key),
    canvasNow().edges.map((edge) => edge.key),
  );
}
