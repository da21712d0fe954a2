// Finds a node by its label, id or activity and brings it into view.
import { type ReactElement, useState } from "react";
import { activityOf, labelOf } from "../model/document";
import { show, useEditor } from "../store";

const MOST = 12;

export function Finder({ onClose }: { onClose: () => void }): ReactElement {
  const nodes = useEditor((state) => state.history.present.nodes);
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const found = nodes
    .filter((node) => `${labelOf(node)} ${node.key} ${activityOf(node)}`.toLowerCase().includes(wanted))
    .slice(0, MOST);
  function go(key: string): void {
    show(key);
    onClose();
  }
  return (
    <search className="finder">
      <input
        type="search"
        value={text}
        // biome-ignore lint/a11y/noAutofocus: it was asked for by a key, to type in
        autoFocus
        placeholder="Find a node"
        aria-label="Find a node"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter" && found[0]) go(found[0].key);
        }}
      />
      <ul>
        {found.map((node) => (
          <li key={node.key}>
            <button type="button" onClick={() => go(node.key)}>
              <span dir="auto">{labelOf(node)}</span> <span className="quiet mono small">{node.key}</span>
            </button>
          </li>
        ))}
        {!found.length && <li className="quiet pad">No node is called that.</li>}
      </ul>
    </search>
  );
}
