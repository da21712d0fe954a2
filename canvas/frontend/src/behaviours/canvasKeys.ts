// What keys do on the drawing surface: move and line up, group, walk along the connections, zoom, write, open the menu.
import { useReactFlow } from "@xyflow/react";
import { useEffect } from "react";
import type { Point } from "../model/document";
import { boxOf, frames, hidden } from "../model/groups";
import { step, type Way } from "../model/walk";
import { canvasNow, editor, say, show } from "../store";
import { groupChosen, toggleChosen, ungroupChosen } from "./grouping";
import { bind, comboOf, isTyping } from "./keyboard";
import { chosenSpot, openMenu } from "./menu";
import { askWhat } from "./picking";
import { align, distribute, nudge, togglePinned } from "./placing";
import { rename } from "./renaming";

const STEP = 4;
const LEAP = 20;

type Flow = ReturnType<typeof useReactFlow>;

export interface Surface {
  addNote: (place: Point) => void;
  toggleMap: () => void;
}

export function useCanvasKeys({ addNote, toggleMap }: Surface): void {
  const flow = useReactFlow();
  useEffect(() => {
    const mayEdit = () => editor.getState().mayEdit;
    const edits = (deed: () => void) => () => {
      if (mayEdit()) deed();
    };
    const keys: [combo: string, deed: () => void][] = [
      ["mod+g", edits(groupChosen)],
      ["mod+shift+g", edits(ungroupChosen)],
      [".", toggleChosen],
      ["i", edits(togglePinned)],
      ["f2", edits(renameChosen)],
      ["enter", edits(renameFocused)],
      ["n", edits(() => addNext(flow))],
      ["w", edits(() => addNote(middleOf(flow)))],
      ["m", toggleMap],
      ["+", () => void flow.zoomIn({ duration: 120 })],
      ["=", () => void flow.zoomIn({ duration: 120 })],
      ["-", () => void flow.zoomOut({ duration: 120 })],
      ["0", () => void flow.zoomTo(1, { duration: 120 })],
      ["contextmenu", () => menuAtChosen(flow)],
      ["shift+f10", () => menuAtChosen(flow)],
      ["alt+shift+arrowleft", edits(() => align("left"))],
      ["alt+shift+c", edits(() => align("centre"))],
      ["alt+shift+arrowright", edits(() => align("right"))],
      ["alt+shift+arrowup", edits(() => align("top"))],
      ["alt+shift+m", edits(() => align("middle"))],
      ["alt+shift+arrowdown", edits(() => align("bottom"))],
      ["alt+shift+h", edits(() => distribute("x"))],
      ["alt+shift+v", edits(() => distribute("y"))],
      ["[", () => walk("in")],
      ["]", () => walk("out")],
      ["alt+arrowleft", () => walk("in")],
      ["alt+arrowright", () => walk("out")],
      ["alt+arrowup", () => walk("previous")],
      ["alt+arrowdown", () => walk("next")],
    ];
    const ways: [string, number, number][] = [
      ["arrowleft", -1, 0],
      ["arrowright", 1, 0],
      ["arrowup", 0, -1],
      ["arrowdown", 0, 1],
    ];
    for (const [key, x, y] of ways) {
      keys.push(
        [key, edits(() => nudge(x * STEP, y * STEP))],
        [`shift+${key}`, edits(() => nudge(x * LEAP, y * LEAP))],
      );
    }
    const unbind = keys.map(([combo, deed]) => bind(combo, deed));
    // React Flow moves the focused node by every arrow key, whatever is held with it; with Alt they are not meant so.
    const walks = new Map(keys.filter(([combo]) => /^alt\+(shift\+)?arrow/.test(combo)));
    function press(event: KeyboardEvent): void {
      const deed = walks.get(comboOf(event));
      if (!deed || isTyping(event.target) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      event.stopPropagation();
      deed();
    }
    addEventListener("keydown", press, { capture: true });
    return () => {
      removeEventListener("keydown", press, { capture: true });
      for (const take of unbind) take();
    };
  }, [flow, addNote, toggleMap]);
}

function onlyChosen(): string {
  const { nodes } = editor.getState();
  return nodes.size === 1 ? ([...nodes][0] ?? "") : "";
}

function renameChosen(): void {
  const key = onlyChosen();
  if (key) rename(key);
  else say("Choose one node to write its label.", true);
}

// Enter chooses the node that has the focus; of one that is chosen already it writes the label.
function renameFocused(): void {
  const focused = document.activeElement;
  const isChosen = focused?.matches(".react-flow__node.selected") && focused.getAttribute("data-id") === onlyChosen();
  if (isChosen) rename(onlyChosen());
}

function walk(way: Way): void {
  const canvas = canvasNow();
  const key = onlyChosen() || canvas.nodes[0]?.key || "";
  const next = onlyChosen() ? step(canvas, key, way) : key;
  if (next === null) {
    say(way === "out" || way === "next" ? "Nothing comes after it." : "Nothing comes before it.");
    return;
  }
  const drawn = hidden(canvas).get(next) ?? next;
  show(drawn);
  focusNode(drawn);
}

// So that keys for what has the focus mean it too; a node that comes into view is there a moment later.
export function focusNode(key: string): void {
  requestAnimationFrame(() =>
    document
      .querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(key)}"]`)
      ?.focus({ preventScroll: true }),
  );
}

function boxOnScreen(flow: Flow, key: string): { at: Point; place: Point } | null {
  const canvas = canvasNow();
  const index = canvas.nodes.findIndex((node) => node.key === key);
  const node = canvas.nodes[index];
  if (!node) return null;
  const box = frames(canvas).get(key) ?? boxOf(node, index);
  const place = { x: box.x + box.width, y: box.y };
  return { place, at: flow.flowToScreenPosition(place) };
}

function addNext(flow: Flow): void {
  const { nodes, edges } = editor.getState();
  const key = onlyChosen();
  const spot = key ? boxOnScreen(flow, key) : null;
  const [edge] = edges;
  if (spot) {
    askWhat({ at: spot.at, place: { x: spot.place.x + 72, y: spot.place.y }, from: key, isForwards: true });
  } else if (edge && edges.size === 1 && nodes.size === 0) {
    const ends = canvasNow().edges.find((one) => one.key === edge);
    const [a, b] = [boxOnScreen(flow, ends?.source ?? ""), boxOnScreen(flow, ends?.target ?? "")];
    if (!a || !b) return;
    const place = { x: (a.place.x + b.place.x) / 2 - 232, y: (a.place.y + b.place.y) / 2 };
    askWhat({ at: flow.flowToScreenPosition(place), place, from: "", isForwards: true, edge });
  } else say("Choose the node, or the connection, after which something is to come.", true);
}

export function middleOf(flow: Flow): Point {
  const box = document.querySelector(".react-flow")?.getBoundingClientRect();
  if (!box) return { x: 0, y: 0 };
  return flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
}

function menuAtChosen(flow: Flow): void {
  const [first] = editor.getState().nodes;
  const spot = first ? boxOnScreen(flow, first) : null;
  const place = spot?.place ?? middleOf(flow);
  openMenu(chosenSpot(spot?.at ?? flow.flowToScreenPosition(place), place));
}
