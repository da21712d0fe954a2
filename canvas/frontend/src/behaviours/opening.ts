// Opens a workflow: what the server has, what activities there are, and drafts that were left behind, here or elsewhere.
import { readActivities } from "../model/activities";
import { type Canvas, readCanvas } from "../model/document";
import { begin, record } from "../model/history";
import { type JsonObject, objectOr, textOr } from "../model/json";
import { foundDrafts } from "../model/leftDrafts";
import { readProblems } from "../model/problems";
import { draftsOf, dropDrafts, type LeftDraft } from "../server/drafts";
import { dropRemoteDraft, remoteDraftOf } from "../server/remoteDraft";
import { request } from "../server/requests";
import { editor, type Saved, setProblems, type Theirs, user } from "../store";
import { adopt, goOnFrom, meetElsewhere } from "./drafting";
import { whoSaved } from "./saving";

export async function open(workflow: string, mayEdit: boolean, mayRun: boolean, signal: AbortSignal): Promise<void> {
  // What keeps no drafts, the browser or the server, is no reason not to open.
  const [answer, activities, kept, there] = await Promise.all([
    request("GET", `/workflows/${encodeURIComponent(workflow)}`, { signal }),
    request("GET", "/activities", { signal }),
    mayEdit ? draftsOf(workflow, user()).catch(() => null) : null,
    mayEdit ? remoteDraftOf(workflow, signal).catch(() => null) : null,
  ]);
  const current: Saved = { version: Number(answer.version), canvas: readCanvas(answer) };
  const left = kept?.left ?? [];
  // The draft on the server may be that of a tab that is open beside this one: it goes on with that.
  const isOthers = Boolean(there && kept?.open.some(({ draft }) => draft.revision === there.revision));
  const here = left.map(({ key, draft }) => ({ ...draft, key }));
  const found = foundDrafts(current.canvas, here, there && !isOthers ? { ...there, key: "" } : null);
  const newest = found.at(-1);
  const isConflict = newest !== undefined && newest.version !== current.version;
  const base = isConflict ? await versionOf(workflow, newest.version, current) : null;
  const who = isConflict ? await whoSaved(workflow) : { by: "", at: "" };
  if (signal.aborted) return;

  let history = begin(current.canvas);
  for (const { canvas } of found) history = record(history, canvas);
  const theirs: Theirs = { ...current, ...who };
  editor.setState({
    workflow,
    mayEdit,
    mayRun,
    history,
    saved: base ?? current,
    activities: readActivities(activities),
    draft: newest ? "restored" : "none",
    remote: "none",
    restored: newest ? { at: newest.at, from: newest.from, hasOther: found.length > 1 } : null,
    newer: null,
    saving: isConflict ? { state: "conflict", theirs, base: base?.canvas ?? null } : { state: "idle" },
    nodes: new Set(),
    edges: new Set(),
  });
  goOnFrom(there && !isOthers ? there.revision : "", newest?.from === "server" ? newest.canvas : null);
  adopt(newest?.key ? [newest.key] : []);
  if (there && isOthers) meetElsewhere(there.revision);
  else if (there && !newest) {
    goOnFrom("", null);
    void dropRemoteDraft(workflow, there.revision).catch(() => undefined); // it is what was saved
  }
  if (left.length && !newest) void dropDrafts(workflow, keysOf(left)).catch(() => undefined);
  setProblems(readProblems(objectOr(answer.validation)));
}

function keysOf(left: LeftDraft[]): string[] {
  return left.map(({ key }) => key);
}

// A version as it was saved; null where it cannot be read. What older versions do not say is as it is now.
export async function versionOf(workflow: string, version: number, current: Saved): Promise<Saved | null> {
  try {
    const answer = await request("GET", `/workflows/${encodeURIComponent(workflow)}/versions/${version}`);
    return { version, canvas: versionCanvas(answer, current.canvas) };
  } catch {
    return null;
  }
}

export function versionCanvas(answer: JsonObject, current: Canvas): Canvas {
  const description = textOr(answer.description, current.description);
  return readCanvas({ ...answer, description, status: textOr(answer.status) || current.status });
}
