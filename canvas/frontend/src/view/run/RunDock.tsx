// What is below the canvas while a run is watched: its timeline or its log; folded, only their names.
import { useReactFlow } from "@xyflow/react";
import { type ReactElement, useLayoutEffect, useRef, useState } from "react";
import { useRun } from "../../run";
import { Icon } from "../icons";
import { RunLog } from "./RunLog";
import { Timeline } from "./Timeline";
import "./run.css";

type Tab = "timeline" | "log" | "";
const KEY = "poimen dock";

export default function RunDock(): ReactElement | null {
  const execution = useRun((run) => run.execution);
  const isCut = useRun((run) => run.isCut);
  const count = useRun((run) => run.attempts.size);
  const [tab, setTab] = useState<Tab>(remembered);
  const dock = useRef<HTMLElement>(null);
  const flow = useReactFlow();
  // What was in the middle of the canvas stays there.
  useLayoutEffect(() => {
    const height = dock.current?.offsetHeight ?? 0;
    const { x, y, zoom } = flow.getViewport();
    void flow.setViewport({ x, y: y - height / 2, zoom });
  }, [flow]);
  if (!execution) return null;
  const open = (next: Tab) => {
    setTab(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // A browser that keeps nothing: the next time it is open again.
    }
  };
  const names = { timeline: "Timeline", log: "Log" } as const;
  return (
    <section ref={dock} className={`run-dock${tab ? "" : " folded"}`} aria-label="Timeline and log of the run">
      <div className="dock-tabs">
        <div className="tabs" role="tablist">
          {(["timeline", "log"] as const).map((one) => (
            <button key={one} type="button" role="tab" aria-selected={tab === one} onClick={() => open(one)}>
              {names[one]}
            </button>
          ))}
        </div>
        {isCut && <span className="quiet small">the first {count.toLocaleString("en")} attempts</span>}
        <button
          type="button"
          className="plain"
          aria-expanded={tab !== ""}
          title={tab ? "Fold" : "Unfold"}
          onClick={() => open(tab ? "" : "timeline")}
        >
          <Icon name={tab ? "down" : "up"} />
          <span className="hidden">{tab ? "Fold" : "Unfold"}</span>
        </button>
      </div>
      {tab === "timeline" && <Timeline />}
      {tab === "log" && <RunLog />}
    </section>
  );
}

function remembered(): Tab {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "log" || kept === "" ? kept : "timeline";
  } catch {
    return "timeline";
  }
}
