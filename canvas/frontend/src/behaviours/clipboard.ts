// Copy, cut, paste and duplicate, over the clipboard of the system: it works between tabs and workflows.
import { useEffect } from "react";
import { add } from "../model/changes";
import { copied, pasted } from "../model/clipboard";
import { removeWhole } from "../model/groups";
import { canvasNow, change, choose, editor, say } from "../store";
import { isTyping } from "./keyboard";

const STEP = 40;
let pastes = 0; // of the same copy: each lies a bit further

export function paste(text: string): boolean {
  pastes += 1;
  const found = pasted(canvasNow(), text, { x: STEP * pastes, y: STEP * pastes });
  if (!found || !editor.getState().mayEdit) return false;
  change((canvas) => add(canvas, found.nodes, found.edges));
  choose(found.nodes.map((node) => node.key));
  return true;
}

export function duplicate(): void {
  const text = copied(canvasNow(), editor.getState().nodes);
  pastes = 0;
  if (text) paste(text);
}

export function removeChosen(): void {
  const { nodes, edges, mayEdit } = editor.getState();
  if (!mayEdit || nodes.size + edges.size === 0) return;
  change((canvas) => removeWhole(canvas, nodes, edges));
  choose([]);
}

let copiedHere = ""; // for pages that may not read the clipboard, such as those over plain HTTP

// As the keys do it, from a menu: the browser is asked to copy, and asks back what.
export function copyChosen(how: "copy" | "cut"): void {
  if (!document.execCommand(how)) say("The browser does not copy from a menu: press Ctrl C.", true);
}

export async function pasteCopied(): Promise<void> {
  const text = await navigator.clipboard?.readText().catch(() => "");
  if (!paste(text || copiedHere))
    say("There are no nodes to paste here; Ctrl V reaches what other pages copied.", true);
}

export function useClipboard(): void {
  useEffect(() => {
    function copy(event: ClipboardEvent): void {
      if (isTyping(event.target) || window.getSelection()?.toString()) return;
      const text = copied(canvasNow(), editor.getState().nodes);
      if (!text) return;
      event.clipboardData?.setData("text/plain", text);
      copiedHere = text;
      event.preventDefault();
      pastes = 0;
      const count = editor.getState().nodes.size;
      if (event.type === "cut") {
        removeChosen();
        pastes = -1; // goes back to where it was
      }
      say(`${count} ${count === 1 ? "node" : "nodes"} ${event.type === "cut" ? "cut" : "copied"}.`);
    }
    function take(event: ClipboardEvent): void {
      if (isTyping(event.target)) return;
      if (paste(event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
      else if (editor.getState().mayEdit) say("The clipboard holds no nodes.", true);
    }
    document.addEventListener("copy", copy);
    document.addEventListener("cut", copy);
    document.addEventListener("paste", take);
    return () => {
      document.removeEventListener("copy", copy);
      document.removeEventListener("cut", copy);
      document.removeEventListener("paste", take);
    };
  }, []);
}
