// Keeps what is not saved: in this browser a moment after each change, on the server a few seconds after the last one.
// A reload, a crash or a time without the network loses nothing, and another browser can go on.
import { useEffect } from "react";
import { type Canvas, readCanvas, writeCanvas } from "../model/document";
import { record } from "../model/history";
import type { JsonObject } from "../model/json";
import { draftsOf, dropDrafts, keepDraft } from "../server/drafts";
import { dropRemoteDraft, keepRemoteDraft, remoteDraftOf, WrittenElsewhere } from "../server/remoteDraft";
import { Refused } from "../server/requests";
import { type Editor, editor, isDirty, user } from "../store";
import { isTyping } from "./keyboard";

const DELAY = 250; // ms
const REMOTE_DELAY = 2000;
const TYPING_DELAY = 8000; // a secret is not sent to the server half typed
const AGAIN = 5000;

// The draft on the server that is written over: what was read or written last here, "" for none.
let revision = "";
let elsewhere = ""; // the revision that somebody else wrote
let remoteCanvas: Canvas | null = null; // what the draft on the server holds, if it came from here
let adopted: string[] = []; // drafts of tabs that are gone, which live on in this one's

export function adopt(keys: string[]): void {
  adopted = keys;
}

export function goOnFrom(known: string, canvas: Canvas | null): void {
  revision = known;
  remoteCanvas = canvas;
  elsewhere = "";
}

export function meetElsewhere(other: string): void {
  elsewhere = other;
  editor.setState({ remote: "elsewhere" });
}

function draftNow(state: Editor): JsonObject {
  const { name, description, status } = state.history.present;
  return { name, description, status, ...writeCanvas(state.history.present) };
}

// One at a time, in order: what is written last is what is true.
let keeping: Promise<void> = Promise.resolve();
function keepHere(): Promise<void> {
  keeping = keeping.then(writeHere);
  return keeping;
}

async function writeHere(): Promise<void> {
  const state = editor.getState();
  const canvas = state.history.present;
  try {
    if (isDirty(state)) {
      const at = new Date().toISOString();
      const draft = { version: state.saved.version, at, canvas: draftNow(state), user: user(), revision };
      await keepDraft(state.workflow, draft, adopted);
      adopted = [];
      const now = editor.getState();
      const isNewest = isDirty(now) && now.history.present === canvas;
      if (isNewest && now.draft !== "restored") editor.setState({ draft: "kept" });
    } else {
      const { left } = await draftsOf(state.workflow, user());
      if (!isDirty(editor.getState())) {
        await dropDrafts(
          state.workflow,
          left.map((one) => one.key),
        );
        editor.setState({ draft: "none" });
      }
    }
  } catch {
    editor.setState({ draft: "failed" });
  }
}

// Writes the draft to the server, or drops it there once everything is saved. One at a time: false while another is.
let sending: Promise<boolean> | null = null;
async function keepThere(isLast = false): Promise<boolean> {
  if (sending) return false;
  sending = writeThere(isLast);
  try {
    return await sending;
  } finally {
    sending = null;
  }
}

// Once everything is saved: until no draft is left that a reload would find and hold against the new version.
export async function forgetDrafts(): Promise<void> {
  await Promise.all([keepHere(), sending]);
  await keepThere();
  await sending; // somebody else may have been first
}

async function writeThere(isLast: boolean): Promise<boolean> {
  const state = editor.getState();
  if (state.remote === "elsewhere" || state.remote === "refused") return true;
  if (!isDirty(state) && !revision) {
    if (state.remote === "offline") editor.setState({ remote: "none" }); // nothing is left to be sent
    return true;
  }
  if (isDirty(state) && state.history.present === remoteCanvas) return true;
  try {
    if (isDirty(state)) {
      const canvas = state.history.present;
      const written = await keepRemoteDraft(state.workflow, state.saved.version, draftNow(state), revision, isLast);
      if (!written) return true;
      revision = written;
      remoteCanvas = canvas;
      const isNewest = isDirty(editor.getState()) && editor.getState().history.present === canvas;
      if (isNewest) {
        editor.setState({ remote: "kept" });
        void keepHere(); // which revision it goes on from
      }
      return isNewest;
    }
    await dropRemoteDraft(state.workflow, revision);
    goOnFrom("", null);
    editor.setState({ remote: "none" });
    return !isDirty(editor.getState());
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): boolean {
  if (error instanceof WrittenElsewhere) {
    if (isDirty(editor.getState())) meetElsewhere(error.revision);
    else goOnFrom("", null); // what is there now is not from here, and stays
    return true;
  }
  const isOffline = error instanceof Refused && (error.status === 0 || error.status >= 500 || error.status === 429);
  editor.setState({ remote: isOffline ? "offline" : "refused" });
  return !isOffline;
}

// The draft that was written elsewhere goes on being drawn here; what was drawn here is one undo away.
export async function takeElsewhere(): Promise<void> {
  const { workflow } = editor.getState();
  const draft = await remoteDraftOf(workflow);
  if (draft) {
    const canvas = readCanvas(draft.canvas);
    goOnFrom(draft.revision, canvas);
    editor.setState(({ history }) => ({ history: record(history, canvas), remote: "kept" }));
  } else {
    goOnFrom("", null);
    editor.setState({ remote: "waiting" });
    await keepThere();
  }
}

// What is drawn here replaces the draft that was written elsewhere.
export async function keepOverElsewhere(): Promise<void> {
  revision = elsewhere;
  elsewhere = "";
  remoteCanvas = null;
  editor.setState({ remote: "waiting" });
  await keepThere();
}

export function useDrafting(): void {
  useEffect(() => {
    let timer: number | undefined;
    let remoteTimer: number | undefined;
    let kept = editor.getState().history.present;
    function keep(): void {
      kept = editor.getState().history.present;
      void keepHere();
    }
    async function send(): Promise<void> {
      window.clearTimeout(remoteTimer);
      if (!(await keepThere())) sendIn(AGAIN);
    }
    function sendIn(milliseconds: number): void {
      window.clearTimeout(remoteTimer);
      remoteTimer = window.setTimeout(send, milliseconds);
    }
    // What was typed is whole once its field is left.
    function leave(event: FocusEvent): void {
      const state = editor.getState();
      if (isTyping(event.target as Element) && state.remote === "waiting" && isDirty(state)) sendIn(REMOTE_DELAY);
    }
    function notice(state: Editor, before: Editor): void {
      if (!state.mayEdit || (state.history.present === before.history.present && state.saved === before.saved)) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(keep, DELAY);
      sendIn(!isDirty(state) ? 0 : isTyping(document.activeElement) ? TYPING_DELAY : REMOTE_DELAY);
      // What is kept is older than what is shown.
      if (state.draft === "kept" || state.draft === "restored") editor.setState({ draft: "none" });
      const isOld = ["none", "kept", "refused"].includes(state.remote);
      if (isOld && isDirty(state)) editor.setState({ remote: "waiting" });
      // Saved: what the other tab drew is its own, and the next draft from here meets it anew.
      if (state.remote === "elsewhere" && !isDirty(state)) {
        goOnFrom("", null);
        editor.setState({ remote: "none" });
      }
    }
    function flush(): void {
      const state = editor.getState();
      if (!state.mayEdit) return;
      if (state.history.present !== kept) {
        kept = state.history.present;
        void writeHere(); // at once: a page that goes waits for nothing that is under way
      }
      if (document.visibilityState === "hidden") void keepThere(true);
    }
    // Only where nothing else holds it is a question in order.
    function ask(event: BeforeUnloadEvent): void {
      const state = editor.getState();
      const isHere = state.draft !== "failed" && state.history.present === kept;
      if (isDirty(state) && !isHere && state.history.present !== remoteCanvas) event.preventDefault();
    }
    const stop = editor.subscribe(notice);
    if (editor.getState().draft === "restored") void send();
    addEventListener("pagehide", flush);
    addEventListener("visibilitychange", flush);
    addEventListener("online", send);
    addEventListener("focusout", leave);
    addEventListener("beforeunload", ask);
    return () => {
      stop();
      window.clearTimeout(timer);
      window.clearTimeout(remoteTimer);
      removeEventListener("pagehide", flush);
      removeEventListener("visibilitychange", flush);
      removeEventListener("online", send);
      removeEventListener("focusout", leave);
      removeEventListener("beforeunload", ask);
    };
  }, []);
}
