// Moves what is chosen: by keys, onto lines, apart from each other; and pins it, so that arranging leaves it there.
import { aligned, distributed, type Edge } from "../model/align";
import { move, setNodeKey } from "../model/changes";
import { dataOf, type Point } from "../model/document";
import { type Box, boxOf, carried, frames, hidden } from "../model/groups";
import { canvasNow, change, editor, say } from "../store";

// What is drawn of what is chosen, with its place and size; members of a chosen group go with it.
function chosenBoxes(): Map<string, Box> {
  const canvas = canvasNow();
  const { nodes } = editor.getState();
  const [boxes, within] = [frames(canvas), hidden(canvas)];
  const found = new Map<string, Box>();
  canvas.nodes.forEach((node, index) => {
    if (nodes.has(node.key) && !within.has(node.key)) found.set(node.key, boxes.get(node.key) ?? boxOf(node, index));
  });
  return found;
}

function place(places: ReadonlyMap<string, Point>, step: string | null = null): void {
  change((canvas) => move(canvas, carried(canvas, places)), step);
}

export function align(edge: Edge): void {
  const boxes = chosenBoxes();
  if (boxes.size < 2) say("Choose two nodes or more.", true);
  else place(aligned(boxes, edge));
}

export function distribute(along: "x" | "y"): void {
  const boxes = chosenBoxes();
  if (boxes.size < 3) say("Choose three nodes or more.", true);
  else place(distributed(boxes, along));
}

export function nudge(x: number, y: number): void {
  const places = [...chosenBoxes()].map(([key, box]): [string, Point] => [key, { x: box.x + x, y: box.y + y }]);
  if (places.length) place(new Map(places), "nudge");
}

export function arePinned(keys: Iterable<string>): boolean {
  const wanted = new Set(keys);
  const nodes = canvasNow().nodes.filter((node) => wanted.has(node.key));
  return nodes.length > 0 && nodes.every((node) => dataOf(node).pinned === true);
}

// Pins what is chosen; where all of it is pinned, frees it.
export function togglePinned(): void {
  const { nodes } = editor.getState();
  if (!nodes.size) {
    say("Choose what is to stay where it is.", true);
    return;
  }
  const pinned = arePinned(nodes) ? undefined : true;
  change((canvas) => [...nodes].reduce((now, key) => setNodeKey(now, key, "pinned", pinned), canvas));
}
