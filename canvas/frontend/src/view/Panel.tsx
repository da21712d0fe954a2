// The side panel: what is chosen, and everything that can be said about it. Chosen nothing: the workflow itself.
import type { ReactElement } from "react";
import { isStep } from "../model/document";
import { closeGroup, useCanvasAtRest, useEditor } from "../store";
import { Arrange } from "./Arrange";
import { EdgePanel } from "./panel/EdgePanel";
import { NodePanel } from "./panel/NodePanel";
import { RemarkPanel } from "./panel/RemarkPanel";
import { WorkflowPanel } from "./panel/WorkflowPanel";
import "./panel/panel.css";

export function Panel(): ReactElement {
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const canvas = useCanvasAtRest();
  const node = nodes.size === 1 ? canvas.nodes.find((one) => nodes.has(one.key)) : undefined;
  const edge = !nodes.size && edges.size === 1 ? canvas.edges.find((one) => edges.has(one.key)) : undefined;
  return (
    <aside className="panel" aria-label="Properties" onBlur={closeGroup}>
      {node && !isStep(node) ? (
        <RemarkPanel key={node.key} node={node} />
      ) : node ? (
        <NodePanel key={node.key} node={node} />
      ) : edge ? (
        <EdgePanel key={edge.key} edge={edge} />
      ) : nodes.size + edges.size > 1 ? (
        <Arrange />
      ) : (
        <WorkflowPanel />
      )}
    </aside>
  );
}
