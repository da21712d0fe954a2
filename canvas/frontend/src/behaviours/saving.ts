// Saves with the version that was changed; when somebody else saved in between, nothing is written before one chose.
import { isSame, readCanvas, writeCanvas } from "../model/document";
import { record } from "../model/history";
import { objectOr } from "../model/json";
import { readProblems } from "../model/problems";
import { Refused, request } from "../server/requests";
import { editor, isDirty, say, setProblems } from "../store";

// True when everything drawn is on the server.
export async function save(): Promise<boolean> {
  const { workflow, history, saved, saving, mayEdit } = editor.getState();
  if (!mayEdit || saving.state === "saving" || saving.state === "conflict") return false;
  if (!isDirty(editor.getState())) return true;
  const sent = history.present;
  editor.setState({ saving: { state: "saving" } });
  const { name, description, status } = sent;
  try {
    const answer = await request("PUT", `/workflows/${workflow}`, {
      body: { name, description, status, ...writeCanvas(sent) },
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
      saving: { state: "idle" },
      draft: isUntouched ? "none" : "kept",
    });
    if (isUntouched) setProblems(readProblems(objectOr(answer.validation)));
    say(`Saved as version ${answer.version}.`);
    return isUntouched;
  } catch (error) {
    if (error instanceof Refused && error.status === 409) await meet(workflow);
    else fail(error);
    return false;
  }
}

async function meet(workflow: string): Promise<void> {
  try {
    const answer = await request("GET", `/workflows/${workflow}`);
    const theirs = { version: Number(answer.version), canvas: readCanvas(answer) };
    editor.setState({ saving: { state: "conflict", theirs } });
  } catch (error) {
    fail(error);
  }
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
  editor.setState({ saved: saving.theirs, saving: { state: "idle" } });
  return save();
}

// Theirs goes on being edited; what was drawn here is one undo away.
export function takeTheirs(): void {
  const { saving, history } = editor.getState();
  if (saving.state !== "conflict") return;
  const { theirs } = saving;
  editor.setState({ saved: theirs, history: record(history, theirs.canvas), saving: { state: "idle" }, draft: "none" });
}
