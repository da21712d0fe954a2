// One node on the canvas. It knows its key and reads the rest, so that a change draws only the nodes that changed.
import { Handle, type Node, type NodeProps, Position, type ReactFlowState, useStore } from "@xyflow/react";
import { memo, type ReactElement } from "react";
import type { Field } from "../model/activities";
import { activityOf, type CanvasNode, kindOf, labelOf, stateTypeOf } from "../model/document";
import { useEditor } from "../store";
import { Icon } from "./icons";
import { RunBadge } from "./RunBadge";

export type StepFlowNode = Node<{ node: CanvasNode }, "step">;
export type MissingFlowNode = Node<{ id: string }, "missing">;

// From where no word can be read, none is drawn: a large canvas opens in a fraction of the time.
const FAR = 0.3;
const farAway = (state: ReactFlowState): boolean => state.transform[2] < FAR;

function listed(fields: Field[]): string {
  return fields.map((field) => `${field.name}${field.required ? "*" : ""} (${field.type})`).join(", ") || "nothing";
}

function Step({ data: { node }, selected }: NodeProps<StepFlowNode>): ReactElement {
  const marks = useEditor((state) => state.nodeMarks.get(node.key));
  const activities = useEditor((state) => state.activities);
  const isFar = useStore(farAway);
  const kind = kindOf(node);
  if (kind !== "activity") {
    return (
      <div
        className={`step-node pill ${kind}${selected ? " chosen" : ""}${marks ? " marked" : ""}`}
        title={marks?.[0]?.message}
      >
        <Icon name={kind} />
        <span dir="auto">{labelOf(node) === node.key ? (kind === "start" ? "Start" : "End") : labelOf(node)}</span>
        {kind === "start" ? (
          <Handle type="source" position={Position.Right} />
        ) : (
          <Handle type="target" position={Position.Left} />
        )}
      </div>
    );
  }
  const state = stateTypeOf(node);
  const activity = activities.of(node);
  const [inputs, outputs] = [activities.inputsOf(node), activities.outputsOf(node)];
  const icon = state ? state.toLowerCase() : (activity?.category ?? "unknown");
  const drawn = activityOf(node);
  const does = state || activity?.name.replace(/Activity$/, "") || drawn || "no activity chosen";
  const worst = marks?.find((problem) => problem.severity === "error") ?? marks?.[0];
  if (isFar) {
    const classes = `step-node far${selected ? " chosen" : ""}${worst ? ` marked ${worst.severity}` : ""}`;
    return (
      <div className={classes} data-category={icon}>
        <span className="badge" />
        <RunBadge node={node.key} />
      </div>
    );
  }
  return (
    <div
      className={`step-node${selected ? " chosen" : ""}${worst ? ` marked ${worst.severity}` : ""}`}
      data-category={icon}
    >
      <Handle type="target" position={Position.Left} title={`Takes ${listed(inputs)}`} />
      <span className="badge">
        <Icon name={icon} />
      </span>
      <span className="words">
        <strong dir="auto">{labelOf(node)}</strong>
        <small dir="auto">{does}</small>
      </span>
      {worst && (
        <span className="mark" title={(marks ?? []).map((problem) => problem.message).join("\n")}>
          <Icon name={worst.severity === "error" ? "cross" : "warning"} />
          <span className="hidden">{worst.severity}</span>
        </span>
      )}
      <RunBadge node={node.key} />
      <Handle type="source" position={Position.Right} title={`Gives ${listed(outputs)}`} />
    </div>
  );
}

// Stands where an edge names a node that is not there, so that the edge can be seen and removed.
function Missing({ data: { id } }: NodeProps<MissingFlowNode>): ReactElement {
  return (
    <div className="step-node missing" title="An edge names this node, but it is not there">
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="badge">
        <Icon name="unknown" />
      </span>
      <span className="words">
        <strong dir="auto">{id.slice(0, 80)}</strong>
        <small>is not there</small>
      </span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

export const StepNode = memo(Step);
export const MissingNode = memo(Missing);
