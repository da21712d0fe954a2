// What keys do. The sheet of them is in the page's template; a key here that is not there is a mistake.
import { useEffect } from "react";
import { canvasNow, choose, editor, makeAgain, takeBack } from "../store";

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable], [data-typing]");
}

// Enter presses the button that has the focus, and arrows scroll or go through the part that has it: they are the
// canvas's only where that is the canvas, or nothing.
function isOfTarget(event: KeyboardEvent): boolean {
  if (event.altKey || event.ctrlKey || event.metaKey || !/^(Enter|Arrow)/.test(event.key)) return false;
  const { target } = event;
  if (!(target instanceof Element) || target === document.body) return false;
  return !target.closest(".react-flow") || target.matches("button, a, summary");
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

const bound = new Map<string, () => void>();

// Lets a key do a deed, wherever nothing is typed and no dialog is open. `combo` is the key in lower case behind
// "mod+" (Ctrl or Cmd), "alt+" and "shift+", in this order: "a", "mod+g", "shift+f10", "alt+arrowright", "+". Returns
// what takes it away again.
export function bind(combo: string, deed: () => void): () => void {
  bound.set(combo, deed);
  return () => {
    if (bound.get(combo) === deed) bound.delete(combo);
  };
}

// Of keys that are signs, such as "?" and "+", the layout decides where Shift is part of them; with Alt some layouts
// make signs of letters, which are told by their place on the keyboard.
export function comboOf(
  event: Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
): string {
  const isLetter = event.altKey && /^Key[A-Z]$/.test(event.code);
  const key = (isLetter ? event.code.slice(3) : event.key).toLowerCase();
  const isSign = key.length === 1 && !/\p{L}/u.test(key);
  const held = [
    (event.ctrlKey || event.metaKey) && "mod+",
    event.altKey && "alt+",
    event.shiftKey && !isSign && "shift+",
  ];
  return held.filter(Boolean).join("") + key;
}

export function useKeyboard(deeds: Deeds): void {
  useEffect(() => {
    const unbind = [
      bind("mod+z", takeBack),
      bind("mod+shift+z", makeAgain),
      bind("mod+y", makeAgain),
      bind("mod+d", deeds.duplicate),
      bind("mod+a", chooseAll),
      bind("mod+f", deeds.find),
      bind("mod+enter", deeds.run),
      bind("delete", deeds.remove),
      bind("backspace", deeds.remove),
      bind("escape", () => choose([])),
      bind("a", deeds.add),
      bind("c", deeds.connect),
      bind("f", deeds.fit),
      bind("l", deeds.arrange),
      bind("p", deeds.problems),
    ];
    function press(event: KeyboardEvent): void {
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const combo = comboOf(event);
      if (combo === "mod+s") act(event, deeds.save);
      if (event.defaultPrevented || (isTyping(event.target) && combo !== "mod+enter")) return; // a field is left to run
      const deed = bound.get(combo);
      if (deed && !isOfTarget(event)) act(event, deed);
    }
    addEventListener("keydown", press);
    return () => {
      for (const take of unbind) take();
      removeEventListener("keydown", press);
    };
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
