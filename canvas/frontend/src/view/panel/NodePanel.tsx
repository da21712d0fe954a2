// Everything about one node: its settings, its data as JSON, and how it fares in the run that is watched.
import { type ReactElement, useEffect, useState } from "react";
import { type CanvasNode, kindOf, labelOf, stateTypeOf } from "../../model/document";
import { isUnwell } from "../../model/run";
import { isOver, runStore, useRun } from "../../run";
import { useEditor } from "../../store";
import { RunDetails } from "../RunDetails";
import { NodeForm } from "./NodeForm";
import { RawNode } from "./Raw";
import { Tab } from "./Tab";

export function NodePanel({ node }: { node: CanvasNode }): ReactElement {
  const [tab, setTab] = useState<"form" | "json" | "run">(() => (isOfInterest(node.key) ? "run" : "form"));
  const asked = useRun((run) => (run.tab?.node === node.key ? run.tab.at : 0));
  useEffect(() => {
    if (asked) setTab("run");
  }, [asked]);
  const isWatched = useRun((run) => run.execution !== "");
  const activities = useEditor((state) => state.activities);
  const activity = activities.of(node);
  const kind = kindOf(node);
  const shown = tab === "run" && !isWatched ? "form" : tab;
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">{labelOf(node)}</h2>
          <p className="quiet small">
            <code>{node.key.slice(0, 128)}</code>{" "}
            {stateTypeOf(node) || activity?.name || (kind === "activity" ? "unknown activity" : kind)}
          </p>
        </div>
      </header>
      <div className="tabs" role="tablist">
        <Tab name="form" now={shown} set={setTab} text="Settings" />
        <Tab name="json" now={shown} set={setTab} text="JSON" />
        {isWatched && <Tab name="run" now={shown} set={setTab} text="Run" />}
      </div>
      <div className="scroll" role="tabpanel">
        {shown === "run" ? (
          <RunDetails node={node.key} />
        ) : shown === "json" ? (
          <RawNode node={node} />
        ) : (
          <NodeForm node={node} />
        )}
      </div>
    </>
  );
}

// While something runs, and of what failed, one wants to know what it does; else how it is set.
function isOfInterest(key: string): boolean {
  const { status, nodes } = runStore.getState();
  const fate = nodes.get(key);
  return fate !== undefined && (!isOver(status) || isUnwell(fate.status));
}
