// Opens a workflow: what the server has, what activities there are, and a draft that was left behind in this browser.
import { readActivities } from "../model/activities";
import { isSame, readCanvas } from "../model/document";
import { begin, record } from "../model/history";
import { objectOr } from "../model/json";
import { readProblems } from "../model/problems";
import { draftOf, dropDraft } from "../server/drafts";
import { request } from "../server/requests";
import { editor, type Saved, setProblems } from "../store";

export async function open(workflow: string, mayEdit: boolean, mayRun: boolean, signal: AbortSignal): Promise<void> {
  const [answer, activities, draft] = await Promise.all([
    request("GET", `/workflows/${encodeURIComponent(workflow)}`, { signal }),
    request("GET", "/activities", { signal }),
    draftOf(workflow).catch(() => undefined), // a browser that keeps nothing is no reason not to open
  ]);
  const saved: Saved = { version: Number(answer.version), canvas: readCanvas(answer) };
  let history = begin(saved.canvas);
  let isConflict = false;
  const left = mayEdit && draft ? readCanvas(draft.canvas) : null;
  if (draft && left && !isSame(left, saved.canvas)) {
    history = record(history, left);
    isConflict = draft.version !== saved.version;
  } else if (draft) void dropDraft(workflow).catch(() => undefined);
  editor.setState({
    workflow,
    mayEdit,
    mayRun,
    history,
    saved,
    activities: readActivities(activities),
    draft: history.past.length ? "restored" : "none",
    saving: isConflict ? { state: "conflict", theirs: saved } : { state: "idle" },
    nodes: new Set(),
    edges: new Set(),
  });
  setProblems(readProblems(objectOr(answer.validation)));
}
