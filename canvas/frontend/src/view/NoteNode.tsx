// A note on the canvas: plain text as it was written, in a size and a colour of its own.
import { type Node, type NodeProps, NodeResizer, useStore } from "@xyflow/react";
import { memo, type ReactElement, useEffect, useRef } from "react";
import { endRenaming, rename } from "../behaviours/renaming";
import { setNodeKey } from "../model/changes";
import { type CanvasNode, LEAST_NOTE } from "../model/document";
import { colourOf, textOf } from "../model/notes";
import { change, closeGroup, useEditor } from "../store";
import { useIsRenamed } from "./LabelInput";
import { farAway, Side } from "./StepNode";
import "./remarks.css";

export type NoteFlowNode = Node<{ node: CanvasNode }, "note">;
const SHOWN = 20_000; // characters; more of a text nobody reads on a canvas

function Note({ data: { node }, selected }: NodeProps<NoteFlowNode>): ReactElement {
  const isFar = useStore(farAway);
  const mayEdit = useEditor((state) => state.mayEdit);
  const isWritten = useIsRenamed(node.key);
  const text = textOf(node);
  return (
    <>
      <NodeResizer isVisible={selected && mayEdit} minWidth={LEAST_NOTE} minHeight={LEAST_NOTE} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: F2 and Enter write in it as well */}
      <div
        className={`note-node${selected ? " chosen" : ""}`}
        data-colour={colourOf(node)}
        onDoubleClick={() => rename(node.key)}
      >
        <Side type="target" isOpen={false} />
        {isWritten ? (
          <NoteText node={node} />
        ) : (
          !isFar && (
            <p dir="auto" className={text ? "" : "quiet"}>
              {text.slice(0, SHOWN) || (mayEdit ? "Write something: double click, or F2" : "")}
            </p>
          )
        )}
        <Side type="source" isOpen={false} />
      </div>
    </>
  );
}

function NoteText({ node }: { node: CanvasNode }): ReactElement {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(area.current.value.length, area.current.value.length);
    return closeGroup;
  }, []);
  return (
    <textarea
      ref={area}
      className="nodrag nopan nowheel"
      dir="auto"
      aria-label="Text of the note"
      value={textOf(node)}
      onChange={(event) => {
        const text = event.target.value;
        change((canvas) => setNodeKey(canvas, node.key, "text", text), `${node.key} text`);
      }}
      onBlur={endRenaming}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Escape" && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
        event.preventDefault();
        const wrapper = area.current?.closest<HTMLElement>(".react-flow__node");
        endRenaming();
        wrapper?.focus({ preventScroll: true });
      }}
    />
  );
}

export const NoteNode = memo(Note);
