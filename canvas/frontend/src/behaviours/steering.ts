// What a person does to the run that is watched: pause, resume, cancel, run again, decide. The server has the last word;
// what it refuses is told as it says it.
import { textOr } from "../model/json";
import { isOver, type Run, rights, runStore } from "../run";
import { request } from "../server/requests";
import { say, show } from "../store";
import { addDeeds } from "./menu";
import { askAgain, watch } from "./watching";

type Deed = "pause" | "resume" | "cancel";

const DONE: Record<Deed, string> = { pause: "Pausing.", resume: "Resumed.", cancel: "Cancelling." };

// True when the server took it.
export async function steer(deed: Deed, reason = ""): Promise<boolean> {
  const { execution } = runStore.getState();
  return attempted(async () => {
    await request("POST", `/executions/${encodeURIComponent(execution)}/${deed}`, { body: reason ? { reason } : {} });
    runStore.setState({ isPausing: deed === "pause" });
    say(DONE[deed]);
    askAgain();
  });
}

// A new run that keeps the results before `fromState`; without one it begins anew. On a run's own page that becomes
// the page of the new run.
export async function runAgain(fromState = ""): Promise<boolean> {
  const { execution } = runStore.getState();
  return attempted(async () => {
    const path = `/executions/${encodeURIComponent(execution)}/rerun`;
    const id = textOr((await request("POST", path, { body: fromState ? { fromState } : {} })).id);
    if (location.pathname.startsWith("/ui/executions/")) {
      location.assign(`/ui/executions/${id}#canvas`);
      return;
    }
    history.replaceState(null, "", `?run=${id}`);
    watch(id);
    say(fromState ? `Running again from ${fromState}.` : "Running again.");
  });
}

// Why no new run can begin at this node, "" when one can.
export function whyNotFrom(run: Run, node: string): string {
  if (!rights.mayOperate) return "Running again needs the role operator.";
  if (!isOver(run.status)) return "The run has not ended yet.";
  if (!run.beginnings) return "The server has not yet said where a new run can begin.";
  if (run.beginnings.has(node)) return "";
  const [one] = run.items.get(node) ?? [];
  if (!one) return "It did not run.";
  const attempt = run.attempts.get(one.ids[0] ?? 0);
  if (attempt?.place.split("/").includes("*")) return "It is in the items of a map; a new run can begin at the map.";
  return "What it did was kept from a run that is no longer there.";
}

// Chooses the node and opens what it did in the run.
export function showRun(node: string): void {
  show(node);
  runStore.setState({ tab: { node, at: Date.now() } });
}

addDeeds("watch", (spot) => {
  const run = runStore.getState();
  const [node = ""] = spot.nodes;
  if (spot.kind !== "node" || !(run.items.has(node) || run.beginnings?.has(node))) return [];
  const why = whyNotFrom(run, node);
  return [
    { id: "show-run", label: "What it did in the run", section: "run", run: () => showRun(node) },
    {
      id: "rerun-from",
      label: "Run again from here",
      section: "run",
      icon: "again",
      ...(why ? { isDisabled: true, why } : {}),
      run: () => void runAgain(node),
    },
  ];
});

export async function vote(gate: string, isApproval: boolean, reason: string): Promise<void> {
  const path = `/approvals/${encodeURIComponent(gate)}/${isApproval ? "approve" : "reject"}`;
  try {
    await request("POST", path, { body: reason ? { reason } : {} });
    say(isApproval ? "Approved." : "Rejected.");
  } finally {
    askAgain(); // also what was refused may have been decided by somebody else
  }
}

async function attempted(deed: () => Promise<void>): Promise<boolean> {
  try {
    await deed();
    return true;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
    return false;
  }
}
