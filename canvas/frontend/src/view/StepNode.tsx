// One node on the canvas. It knows its key and reads the rest, so that a change draws only the nodes that changed.
import { Handle, type Node, type NodeProps, Position, type ReactFlowState, useStore } from "@xyflow/react";
import { memo, type ReactElement, useState } from "react";
import { activityOf, type CanvasNode, dataOf, kindOf, labelOf, stateTypeOf } from "../model/document";
import { useEditor } from "../store";
import { useAcceptance } from "./acceptance";
import { Icon } from "./icons";
import { LabelInput, useIsRenamed } from "./LabelInput";
import { Ports } from "./Ports";
import { RunBadge } from "./RunBadge";

export type StepFlowNode = Node<{ node: CanvasNode }, "step">;
export type MissingFlowNode = Node<{ id: string }, "missing">;

// From where no word can be read, none is drawn: a large canvas opens in a fraction of the time.
const FAR = 0.3;
export const farAway = (state: ReactFlowState): boolean => state.transform[2] < FAR;

function Step({ data: { node }, selected }: NodeProps<StepFlowNode>): ReactElement {
  const marks = useEditor((state) => state.nodeMarks.get(node.key));
  const activities = useEditor((state) => state.activities);
  const isRenamed = useIsRenamed(node.key);
  const isFar = useStore(farAway) && !isRenamed;
  const acceptance = useAcceptance(node.key);
  const [isPointedAt, setPointedAt] = useState(false);
  const isAlone = useEditor((state) => Boolean(selected) && state.nodes.size === 1);
  const kind = kindOf(node);
  const isPinned = dataOf(node).pinned === true;
  const stands = `${selected ? " chosen" : ""}${acceptance}`;
  if (kind !== "activity") {
    return (
      <div className={`step-node pill ${kind}${stands}${marks ? " marked" : ""}`} title={marks?.[0]?.message}>
        <Side type="target" isOpen={kind === "end"} />
        <Icon name={kind} />
        {isRenamed ? (
          <LabelInput node={node} />
        ) : (
          <span dir="auto">{labelOf(node) === node.key ? (kind === "start" ? "Start" : "End") : labelOf(node)}</span>
        )}
        {isPinned && <Pin />}
        <Side type="source" isOpen={kind === "start"} />
      </div>
    );
  }
  const state = stateTypeOf(node);
  const activity = activities.of(node);
  const icon = state ? state.toLowerCase() : (activity?.category ?? "unknown");
  const drawn = activityOf(node);
  const does = state || activity?.name.replace(/Activity$/, "") || drawn || "no activity chosen";
  const worst = marks?.find((problem) => problem.severity === "error") ?? marks?.[0];
  if (isFar) {
    const classes = `step-node far${stands}${worst ? ` marked ${worst.severity}` : ""}`;
    return (
      <div className={classes} data-category={icon}>
        <span className="badge" />
        <RunBadge node={node.key} />
      </div>
    );
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what the pointer shows, choosing the node shows as well
    <div
      className={`step-node${stands}${worst ? ` marked ${worst.severity}` : ""}`}
      data-category={icon}
      onMouseEnter={() => setPointedAt(true)}
      onMouseLeave={() => setPointedAt(false)}
    >
      <Side type="target" />
      <span className="badge">
        <Icon name={icon} />
      </span>
      <span className="words">
        {isRenamed ? <LabelInput node={node} /> : <strong dir="auto">{labelOf(node)}</strong>}
        <small dir="auto">{does}</small>
      </span>
      {worst && (
        <span className="mark" title={(marks ?? []).map((problem) => problem.message).join("\n")}>
          <Icon name={worst.severity === "error" ? "cross" : "warning"} />
          <span className="hidden">{worst.severity}</span>
        </span>
      )}
      {isPinned && <Pin />}
      <RunBadge node={node.key} />
      <Side type="source" />
      {(isPointedAt || isAlone) && <Ports node={node} isSure={isAlone} />}
    </div>
  );
}

// Where connections end. One that is not open is there for edges that should not be, so that they can be seen.
export function Side({ type, isOpen = true }: { type: "source" | "target"; isOpen?: boolean }): ReactElement {
  const position = type === "target" ? Position.Left : Position.Right;
  return <Handle type={type} position={position} isConnectable={isOpen} className={isOpen ? "" : "shut"} />;
}

function Pin(): ReactElement {
  return (
    <span className="pin" title="Pinned: arranging leaves it here">
      <Icon name="pin" />
      <span className="hidden">pinned</span>
    </span>
  );
}

// Stands where an edge names a node that is not there, so that the edge can be seen and removed.
function Missing({ data: { id } }: NodeProps<MissingFlowNode>): ReactElement {
  return (
    <div className="step-node missing" title="An edge names this node, but it is not there">
      <Side type="target" isOpen={false} />
      <span className="badge">
        <Icon name="unknown" />
      </span>
      <span className="words">
        <strong dir="auto">{id.slice(0, 80)}</strong>
        <small>is not there</small>
      </span>
      <Side type="source" isOpen={false} />
    </div>
  );
}

export const StepNode = memo(Step);
export const MissingNode = memo(Missing);
