// Groups what is chosen, and opens, closes and dissolves groups.
import { type Canvas, kindOf, placeOf, sizeOf } from "../model/document";
import { collapse, frames, group, groupOf, isCollapsed, join, ungroup } from "../model/groups";
import { canvasNow, change, choose, editor, say } from "../store";
import { rename } from "./renaming";

export function groupChosen(): void {
  const { nodes, mayEdit } = editor.getState();
  if (!mayEdit) return;
  const made = group(canvasNow(), nodes, "Group");
  if (!made.key) {
    say("Choose the nodes to group.", true);
    return;
  }
  change(() => made.canvas);
  choose([made.key]);
  rename(made.key);
}

// The groups among these nodes, or those that the others belong to.
export function groupsOf(canvas: Canvas, keys: Iterable<string>): string[] {
  const wanted = new Set(keys);
  const there = new Map(canvas.nodes.filter((node) => kindOf(node) === "group").map((node) => [node.key, node]));
  const found = canvas.nodes.filter((node) => wanted.has(node.key));
  return [...new Set(found.map((node) => (there.has(node.key) ? node.key : groupOf(node))))].filter((key) =>
    there.has(key),
  );
}

export function ungroupChosen(): void {
  const groups = new Set(groupsOf(canvasNow(), editor.getState().nodes));
  if (!groups.size) {
    say("Choose a group, or a node in one.", true);
    return;
  }
  const members = canvasNow().nodes.filter((node) => groups.has(groupOf(node)));
  change((canvas) => ungroup(canvas, groups));
  choose(members.map((node) => node.key));
}

// A viewer opens and closes for himself: what he sees is nothing to save.
export function setCollapsed(groups: string[], isClosed: boolean): void {
  const make = (canvas: Canvas) => groups.reduce((now, key) => collapse(now, key, isClosed), canvas);
  const { mayEdit, history } = editor.getState();
  if (mayEdit) change(make);
  else {
    const present = make(history.present);
    editor.setState(({ saved }) => ({ history: { ...history, present }, saved: { ...saved, canvas: present } }));
  }
  if (isClosed) choose(groups);
}

// Of the chosen groups, or those of the chosen nodes: open if all are closed, else close them all.
export function toggleChosen(): void {
  const canvas = canvasNow();
  const groups = groupsOf(canvas, editor.getState().nodes);
  if (!groups.length) {
    say("Choose a group, or a node in one.", true);
    return;
  }
  const areClosed = canvas.nodes.filter((node) => groups.includes(node.key)).every(isCollapsed);
  setCollapsed(groups, !areClosed);
}

export function leaveGroup(): void {
  change((canvas) => join(canvas, editor.getState().nodes, ""));
}

// A node that was let go inside a frame belongs to that group from then on.
export function joinUnder(keys: string[]): void {
  change((canvas) => {
    const boxes = [...frames(canvas)].filter(([key]) => {
      const node = canvas.nodes.find((one) => one.key === key);
      return node && !isCollapsed(node);
    });
    let now = canvas;
    for (const node of canvas.nodes) {
      if (!keys.includes(node.key) || kindOf(node) === "group" || boxes.some(([key]) => key === groupOf(node)))
        continue;
      const { x, y } = placeOf(node, canvas.nodes.indexOf(node));
      const { width, height } = sizeOf(node);
      const [middle, centre] = [x + width / 2, y + height / 2];
      const under = boxes.find(
        ([, box]) => middle > box.x && middle < box.x + box.width && centre > box.y && centre < box.y + box.height,
      );
      if (under) now = join(now, new Set([node.key]), under[0]);
    }
    return now;
  }, "move");
}
