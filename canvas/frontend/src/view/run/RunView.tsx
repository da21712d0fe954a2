// The canvas on the page of a run: the drawing that ran, read-only and live, with what is chosen and the timeline.
import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type ReactElement, type RefObject, useEffect, useRef, useState } from "react";
import { forgetRun, watch } from "../../behaviours/watching";
import { readActivities } from "../../model/activities";
import { readCanvas } from "../../model/document";
import { begin } from "../../model/history";
import { Refused, request } from "../../server/requests";
import { editor, useEditor } from "../../store";
import { Note } from "../App";
import { Flow } from "../Flow";
import RunDock from "./RunDock";
import { RunPanel } from "./RunPanel";
import { RunStrip } from "./RunStrip";
import "./run.css";

interface Props {
  execution: string;
  workflow: string; // "" for a run of a spec that nobody drew
  version: number;
}

export default function RunView({ execution, workflow, version }: Props): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const [fault, setFault] = useState("");
  useEffect(() => {
    const control = new AbortController();
    load(workflow, version, control.signal)
      .catch((error: unknown) => {
        if (control.signal.aborted) return;
        // The run can be followed without the drawing.
        const isGone = error instanceof Refused && error.status === 404;
        setFault(isGone ? "The version that ran is no longer kept." : error instanceof Error ? error.message : "");
      })
      .finally(() => {
        if (control.signal.aborted) return;
        watch(execution);
        setOpen(true);
      });
    return () => {
      control.abort();
      forgetRun();
    };
  }, [execution, workflow, version]);
  if (!isOpen) return <p className="canvas-message quiet">Opening the canvas…</p>;
  return (
    <ReactFlowProvider>
      <div className="workbench read-only run-view">
        <RunStrip isOwnPage />
        <Surface why={fault || (workflow ? "" : "This run was started from a spec, which nobody drew.")} />
        <RunPanel />
        <RunDock />
        <Note />
      </div>
    </ReactFlowProvider>
  );
}

function Surface({ why }: { why: string }): ReactElement {
  const isEmpty = useEditor((state) => state.history.present.nodes.length === 0);
  const surface = useRef<HTMLDivElement>(null);
  useFitting(surface);
  return (
    <div className={`surface${isEmpty ? " undrawn" : ""}`} ref={surface}>
      {isEmpty ? (
        <p className="quiet pad">
          {why || "Nothing is drawn in the version that ran."} Its timeline and log are below.
        </p>
      ) : (
        <Flow onArrange={() => undefined} />
      )}
    </div>
  );
}

// Keeps the whole drawing in view while the page around it changes, until somebody moves it.
function useFitting(surface: RefObject<HTMLElement | null>): void {
  const flow = useReactFlow();
  useEffect(() => {
    const element = surface.current;
    if (!element) return;
    const observer = new ResizeObserver(() => void flow.fitView({ padding: 0.1, maxZoom: 1 }));
    const leave = () => observer.disconnect();
    observer.observe(element);
    element.addEventListener("pointerdown", leave);
    element.addEventListener("wheel", leave, { passive: true });
    return () => {
      leave();
      element.removeEventListener("pointerdown", leave);
      element.removeEventListener("wheel", leave);
    };
  }, [surface, flow]);
}

async function load(workflow: string, version: number, signal: AbortSignal): Promise<void> {
  const nothing = readCanvas({});
  editor.setState({
    workflow,
    mayEdit: false,
    mayRun: false,
    history: begin(nothing),
    saved: { version, canvas: nothing },
  });
  const [activities, drawn] = await Promise.all([
    request("GET", "/activities", { signal }),
    workflow ? request("GET", `/workflows/${encodeURIComponent(workflow)}/versions/${version}`, { signal }) : {},
  ]);
  const canvas = readCanvas(drawn);
  editor.setState({ activities: readActivities(activities), history: begin(canvas), saved: { version, canvas } });
}
