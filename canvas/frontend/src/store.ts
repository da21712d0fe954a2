// The one state of the editor. Owns the canvas with its history, what is chosen, and what the server said of it;
// how that changes is in model/, and who changes it in behaviours/ and view/.

import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";
import { Activities } from "./model/activities";
import { type Canvas, readCanvas } from "./model/document";
import { begin, close, type History, record, redo, undo } from "./model/history";
import { type Marks, marksOf, type Problem } from "./model/problems";

export interface Saved {
  version: number;
  canvas: Canvas;
}

export type Saving =
  | { state: "idle" }
  | { state: "saving" }
  | { state: "failed"; message: string }
  | { state: "conflict"; theirs: Theirs; base: Canvas | null }; // base: what both began with, null where nobody knows

// A version that somebody else saved meanwhile.
export interface Theirs extends Saved {
  by: string;
  at: string;
}

// What was not saved and was found again: from when, from where, and whether undo leads to another one.
export interface Restored {
  at: string;
  from: "browser" | "server";
  hasOther: boolean;
}

// How the draft on the server stands: elsewhere means that another tab or browser of the same person writes it.
export type Remote = "none" | "waiting" | "kept" | "offline" | "refused" | "elsewhere";

export type Checking = { state: "unknown" | "asking" | "done" } | { state: "failed"; message: string };

export interface Editor {
  workflow: string;
  mayEdit: boolean;
  mayRun: boolean;
  history: History<Canvas>;
  saved: Saved;
  saving: Saving;
  draft: "none" | "kept" | "restored" | "failed"; // of what is not saved, in this browser
  remote: Remote;
  restored: Restored | null;
  newer: Theirs | null; // than the version that is drawn on
  activities: Activities;
  problems: Problem[];
  nodeMarks: Marks;
  edgeMarks: Marks;
  checking: Checking;
  nodes: ReadonlySet<string>; // what is chosen
  edges: ReadonlySet<string>;
  isDragged: boolean; // something is, this moment
  goTo: { key: string; at: number } | null; // a node to bring into view
  note: { text: string; isBad: boolean; at: number } | null;
}

const NOTHING: Canvas = readCanvas({});

export const editor = createStore<Editor>(() => ({
  workflow: "",
  mayEdit: false,
  mayRun: false,
  history: begin(NOTHING),
  saved: { version: 0, canvas: NOTHING },
  saving: { state: "idle" },
  draft: "none",
  remote: "none",
  restored: null,
  newer: null,
  activities: new Activities([]),
  problems: [],
  nodeMarks: new Map(),
  edgeMarks: new Map(),
  checking: { state: "unknown" },
  nodes: new Set(),
  edges: new Set(),
  isDragged: false,
  goTo: null,
  note: null,
}));

export function useEditor<T>(pick: (state: Editor) => T, isEqual: (one: T, other: T) => boolean = Object.is): T {
  return useStoreWithEqualityFn(editor, pick, isEqual);
}

// The canvas as it was before what is being dragged was taken up: for all that shows no places.
export function useCanvasAtRest(): Canvas {
  return useEditor(
    (state) => state.history.present,
    (one, other) => one === other || editor.getState().isDragged,
  );
}

// Whose drafts these are: the page says who is signed in.
export function user(): string {
  return document.getElementById("canvas")?.dataset.user ?? "";
}

export function canvasNow(): Canvas {
  return editor.getState().history.present;
}

export function isDirty(state: Editor): boolean {
  return state.history.present !== state.saved.canvas;
}

// Changes the canvas as one step of the history; successive changes of one `group` are one step.
export function change(make: (canvas: Canvas) => Canvas, group: string | null = null): void {
  const { history, mayEdit } = editor.getState();
  if (mayEdit) editor.setState({ history: record(history, make(history.present), group) });
}

export function closeGroup(): void {
  editor.setState(({ history }) => ({ history: close(history) }));
}

export function takeBack(): void {
  editor.setState(({ history, mayEdit }) => (mayEdit ? { history: undo(history) } : {}));
  forgetGone();
}

export function makeAgain(): void {
  editor.setState(({ history, mayEdit }) => (mayEdit ? { history: redo(history) } : {}));
  forgetGone();
}

export function choose(nodes: Iterable<string>, edges: Iterable<string> = []): void {
  editor.setState({ nodes: new Set(nodes), edges: new Set(edges) });
}

// What is chosen and no longer there is not chosen either.
export function forgetGone(): void {
  const { history, nodes, edges } = editor.getState();
  const there = new Set(history.present.nodes.map((node) => node.key));
  const drawn = new Set(history.present.edges.map((edge) => edge.key));
  choose(
    [...nodes].filter((key) => there.has(key)),
    [...edges].filter((key) => drawn.has(key)),
  );
}

// `onEdges` are told at edges, and not in the list.
export function setProblems(problems: Problem[], onEdges: Problem[] = []): void {
  const [nodeMarks, edgeMarks] = [marksOf(problems, "node"), marksOf([...problems, ...onEdges], "edge")];
  editor.setState({ problems, nodeMarks, edgeMarks, checking: { state: "done" } });
}

export function show(key: string): void {
  choose([key]);
  editor.setState({ goTo: { key, at: Date.now() } });
}

export function say(text: string, isBad = false): void {
  editor.setState({ note: { text, isBad, at: Date.now() } });
}
