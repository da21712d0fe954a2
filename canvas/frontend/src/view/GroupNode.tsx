// A group on the canvas: a frame with a title around its members, or collapsed one node that stands for them.
import { type Node, type NodeProps, useStore } from "@xyflow/react";
import { memo, type ReactElement } from "react";
import { setCollapsed } from "../behaviours/grouping";
import { rename } from "../behaviours/renaming";
import { type CanvasNode, labelOf } from "../model/document";
import { worstOf } from "../model/problems";
import { tally } from "../model/tally";
import { useRun } from "../run";
import { useEditor } from "../store";
import { Icon } from "./icons";
import { LabelInput, useIsRenamed } from "./LabelInput";
import { TONES } from "./RunBadge";
import { farAway, Side } from "./StepNode";
import { counted } from "./TextRow";
import "./remarks.css";

export type GroupFlowNode = Node<{ node: CanvasNode; members: string[]; isClosed: boolean }, "frame">;

function Group({ data: { node, members, isClosed }, selected }: NodeProps<GroupFlowNode>): ReactElement {
  const isRenamed = useIsRenamed(node.key);
  const isFar = useStore(farAway) && !isRenamed;
  const chosen = selected ? " chosen" : "";
  const title = isRenamed ? (
    <LabelInput node={node} />
  ) : (
    <strong dir="auto" title={labelOf(node)}>
      {labelOf(node)}
    </strong>
  );
  if (isClosed) return <Closed node={node} members={members} chosen={chosen} title={title} isFar={isFar} />;
  return (
    <div className={`group-frame${chosen}`}>
      <Side type="target" isOpen={false} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: F2 writes in it as well */}
      <div className="group-title" onDoubleClick={() => rename(node.key)}>
        {!isFar && (
          <>
            <Toggle node={node} isClosed={false} />
            {title}
            <small>{counted(members.length, "node")}</small>
          </>
        )}
      </div>
      <Side type="source" isOpen={false} />
    </div>
  );
}

function Closed({
  node,
  members,
  chosen,
  title,
  isFar,
}: {
  node: CanvasNode;
  members: string[];
  chosen: string;
  title: ReactElement;
  isFar: boolean;
}): ReactElement {
  const worst = useEditor((state) => worstOf(members, state.nodeMarks));
  return (
    <div className={`step-node group-closed${chosen}${worst ? ` marked ${worst.severity}` : ""}`}>
      <Side type="target" isOpen={false} />
      {isFar ? (
        <span className="badge" />
      ) : (
        <>
          <Toggle node={node} isClosed />
          <span className="words">
            {title}
            <small>{counted(members.length, "node")}</small>
          </span>
          {worst && (
            <span className="mark" title={worst.message}>
              <Icon name={worst.severity === "error" ? "cross" : "warning"} />
              <span className="hidden">{worst.severity}</span>
            </span>
          )}
        </>
      )}
      <Fates members={members} />
      <Side type="source" isOpen={false} />
    </div>
  );
}

function Toggle({ node, isClosed }: { node: CanvasNode; isClosed: boolean }): ReactElement {
  const title = isClosed ? "Expand (.)" : "Collapse (.)";
  return (
    <button
      type="button"
      className="plain toggle nodrag"
      title={title}
      aria-expanded={!isClosed}
      onClick={() => setCollapsed([node.key], !isClosed)}
    >
      <Icon name={isClosed ? "closed" : "open"} />
      <span className="hidden">{title}</span>
    </button>
  );
}

// How the members fare in the run that is watched, summed: the most pressing state first.
function Fates({ members }: { members: string[] }): ReactElement | null {
  const said = useRun((run) => (run.execution ? JSON.stringify(tally(members, run.nodes)) : ""));
  const counts = (said ? JSON.parse(said) : []) as [status: string, count: number][];
  const first = counts[0];
  if (!first) return null;
  const [tone, icon] = TONES[first[0]] ?? ["idle", "unknown"];
  return (
    <span className={`fate tone-${tone}`} data-status={first[0]}>
      <Icon name={icon} />
      {counts.map(([status, count]) => `${count} ${TONES[status]?.[2] ?? status}`).join(" · ")}
    </span>
  );
}

export const GroupNode = memo(Group);
