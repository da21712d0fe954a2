// Saves with the version that was changed; when somebody else saved in between, nothing is written before one chose.
import { type Canvas, isSame, readCanvas, writeCanvas } from "../model/document";
import { record } from "../model/history";
import { objectOr, textOr } from "../model/json";
import { readProblems } from "../model/problems";
import { Refused, request, requestList } from "../server/requests";
import { editor, isDirty, say, setProblems, type Theirs } from "../store";
import { forgetDrafts } from "./drafting";

// True when everything drawn is on the server. `reason` is kept with the version.
export async function save(reason = ""): Promise<boolean> {
  const { workflow, history, saved, saving, mayEdit } = editor.getState();
  if (!mayEdit || saving.state === "saving" || saving.state === "conflict") return false;
  if (!isDirty(editor.getState())) return true;
  const sent = history.present;
  editor.setState({ saving: { state: "saving" } });
  const { name, description, status } = sent;
  try {
    const answer = await request("PUT", `/workflows/${workflow}`, {
      body: { name, description, status, ...writeCanvas(sent), ...(reason && { changeReason: reason }) },
      headers: { "If-Match": `"${saved.version}"` },
    });
    const kept = readCanvas(answer);
    const now = editor.getState().history;
    // What the server keeps may be filled in (a secret became its handle): it replaces what was sent.
    const isUntouched = now.present === sent;
    const same = isSame(kept, sent) ? sent : kept;
    editor.setState({
      saved: { version: Number(answer.version), canvas: isUntouched ? same : sent },
      history: isUntouched && same !== sent ? { ...record(now, same, "saved"), past: now.past } : now,
      draft: isUntouched ? "none" : "kept",
      restored: null,
      newer: null,
    });
    if (isUntouched) setProblems(readProblems(objectOr(answer.validation)));
    // Saved is said when a reload would show what was saved, and not a draft that was made before.
    await forgetDrafts();
    editor.setState({ saving: { state: "idle" } });
    say(`Saved as version ${answer.version}.`);
    return isUntouched;
  } catch (error) {
    if (error instanceof Refused && error.status === 409) await meet();
    else fail(error);
    return false;
  }
}

// Reads what somebody else saved, and lets the user choose.
async function meet(): Promise<void> {
  const { workflow, saved } = editor.getState();
  try {
    const answer = await request("GET", `/workflows/${workflow}`);
    const theirs = { version: Number(answer.version), canvas: readCanvas(answer), ...(await whoSaved(workflow)) };
    editor.setState({ saving: { state: "conflict", theirs, base: saved.canvas }, newer: null });
  } catch (error) {
    fail(error);
  }
}

export async function whoSaved(workflow: string): Promise<{ by: string; at: string }> {
  const [newest = {}] = await requestList(`/workflows/${workflow}/versions?limit=1`).catch(() => []);
  return { by: textOr(newest.createdBy), at: textOr(newest.createdAt) };
}

function fail(error: unknown): void {
  const details = error instanceof Refused ? error.answer.details : undefined;
  const problems = Array.isArray(details) ? readProblems({ errors: details }) : [];
  const first = problems[0] ? ` The first: ${problems[0].message}.` : "";
  const isSignedOut = error instanceof Refused && error.status === 401;
  const next = isSignedOut ? " Reload the page to sign in; what you drew is kept here." : first;
  const message = error instanceof Error ? `${error.message}${next}` : String(error);
  editor.setState({ saving: { state: "failed", message } });
  say(`Not saved: ${message}`, true);
}

// Of two versions this one is to be the next: saves it over theirs, which stays in the list of versions.
export function keepMine(): Promise<boolean> {
  const { saving } = editor.getState();
  if (saving.state !== "conflict") return Promise.resolve(false);
  editor.setState({ saved: saving.theirs, saving: { state: "idle" }, newer: null });
  return save();
}

// What was made of both is the next version; what was drawn here alone is one undo away.
export function saveMerged(canvas: Canvas): Promise<boolean> {
  const { saving, history } = editor.getState();
  if (saving.state !== "conflict") return Promise.resolve(false);
  const { theirs } = saving;
  const present = isSame(canvas, theirs.canvas) ? theirs.canvas : canvas;
  editor.setState({ saved: theirs, history: record(history, present), saving: { state: "idle" }, newer: null });
  return save(`merged with version ${theirs.version}`);
}

// Theirs goes on being edited; what was drawn here is one undo away.
export function takeTheirs(): void {
  const { saving } = editor.getState();
  if (saving.state === "conflict") take(saving.theirs);
}

// A newer version is drawn on from here; what was drawn before is one undo away.
export function take(theirs: Theirs): void {
  editor.setState({
    saved: theirs,
    history: record(editor.getState().history, theirs.canvas),
    saving: { state: "idle" },
    draft: "none",
    restored: null,
    newer: null,
  });
}

// What is drawn goes back to what was saved; the draft is one undo away.
export function discardDraft(): void {
  const { history, saved, mayEdit } = editor.getState();
  if (mayEdit) editor.setState({ history: record(history, saved.canvas), restored: null });
}
