// Finds a node by its label, id or activity: to bring it into view, or to connect the chosen one with it.
import { type ReactElement, useMemo, useState } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { focusNode } from "../behaviours/canvasKeys";
import { askWhere, joining } from "../behaviours/picking";
import { connect } from "../model/changes";
import { acceptors } from "../model/connecting";
import { activityOf, type CanvasNode, kindOf, labelOf } from "../model/document";
import { textOf } from "../model/notes";
import { canvasNow, change, choose, editor, show, useEditor } from "../store";

const MOST = 12;

export function Finder({ onClose }: { onClose: () => void }): ReactElement {
  const nodes = useEditor((state) => state.history.present.nodes);
  return (
    <Search
      title="Find a node"
      nodes={nodes}
      onClose={onClose}
      onPick={(key) => {
        show(key);
        focusNode(key);
        onClose();
      }}
    />
  );
}

// Lists where a connection from the chosen node may lead, what suits by its fields first.
export function Joiner(): ReactElement | null {
  const from = useStoreWithEqualityFn(joining, (state) => state.from);
  const activities = useEditor((state) => state.activities);
  const targets = useMemo(() => {
    if (!from) return [];
    const accepting = acceptors(canvasNow(), activities, from, true);
    const list = canvasNow().nodes.filter((node) => accepting.has(node.key));
    return [...list.filter((node) => accepting.get(node.key)), ...list.filter((node) => !accepting.get(node.key))];
  }, [from, activities]);
  if (!from) return null;
  return (
    <Search
      title="Connect it with"
      nodes={targets}
      onClose={() => askWhere("")}
      onPick={(key) => {
        if (editor.getState().mayEdit) change((canvas) => connect(canvas, from, key));
        choose([from]);
        focusNode(from);
        askWhere("");
      }}
    />
  );
}

function Search({
  title,
  nodes,
  onPick,
  onClose,
}: {
  title: string;
  nodes: CanvasNode[];
  onPick: (key: string) => void;
  onClose: () => void;
}): ReactElement {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const found = nodes
    .filter((node) => `${spoken(node)} ${node.key} ${activityOf(node)}`.toLowerCase().includes(wanted))
    .slice(0, MOST);
  return (
    <search className="finder">
      <input
        type="search"
        value={text}
        // biome-ignore lint/a11y/noAutofocus: it was asked for by a key, to type in
        autoFocus
        placeholder={title}
        aria-label={title}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter" && found[0]) onPick(found[0].key);
        }}
      />
      <ul>
        {found.map((node) => (
          <li key={node.key}>
            <button type="button" onClick={() => onPick(node.key)}>
              <span dir="auto">{spoken(node)}</span> <span className="quiet mono small">{node.key}</span>
            </button>
          </li>
        ))}
        {!found.length && <li className="quiet pad">No node is called that.</li>}
      </ul>
    </search>
  );
}

function spoken(node: CanvasNode): string {
  return kindOf(node) === "note" ? textOf(node).slice(0, 200) || "Note" : labelOf(node);
}
