// The settings of what only people read: the text and colour of a note, the title of a group.
import type { ReactElement } from "react";
import { setCollapsed } from "../../behaviours/grouping";
import { setNodeKey } from "../../model/changes";
import { type CanvasNode, dataOf, kindOf, labelOf } from "../../model/document";
import { isCollapsed, membersOf } from "../../model/groups";
import { textOr } from "../../model/json";
import { COLOURS, colourOf, textOf } from "../../model/notes";
import { change, choose, useCanvasAtRest, useEditor } from "../../store";
import { counted, TextRow } from "../TextRow";
import "../remarks.css";

export function RemarkPanel({ node }: { node: CanvasNode }): ReactElement {
  const isNote = kindOf(node) === "note";
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">{isNote ? "Note" : labelOf(node)}</h2>
          <p className="quiet small">
            <code>{node.key.slice(0, 128)}</code> {isNote ? "note" : "group"}
          </p>
        </div>
      </header>
      <div className="scroll">{isNote ? <NoteForm node={node} /> : <GroupForm node={node} />}</div>
    </>
  );
}

function NoteForm({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  function set(name: string, value: string, step: string | null): void {
    change((canvas) => setNodeKey(canvas, node.key, name, value), step);
  }
  return (
    <div className="form">
      <label className="field">
        Text
        <textarea
          rows={8}
          dir="auto"
          value={textOf(node)}
          disabled={!mayEdit}
          onChange={(event) => set("text", event.target.value, `${node.key} text`)}
        />
      </label>
      <fieldset className="colours" disabled={!mayEdit}>
        <legend>Colour</legend>
        {COLOURS.map((colour) => (
          <label key={colour} className="note-node" data-colour={colour}>
            <input
              type="radio"
              name={`${node.key} colour`}
              checked={colourOf(node) === colour}
              onChange={() => set("colour", colour, null)}
            />
            {colour}
          </label>
        ))}
      </fieldset>
      <p className="about">A note is read by people only: it changes nothing about what runs.</p>
    </div>
  );
}

function GroupForm({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const canvas = useCanvasAtRest();
  const members = membersOf(canvas).get(node.key) ?? [];
  return (
    <div className="form">
      <TextRow
        label="Title"
        value={textOr(dataOf(node).label)}
        placeholder={node.key}
        disabled={!mayEdit}
        onChange={(text) => change((now) => setNodeKey(now, node.key, "label", text), `${node.key} label`)}
      />
      <button type="button" className="button" onClick={() => setCollapsed([node.key], !isCollapsed(node))}>
        {isCollapsed(node) ? "Expand" : "Collapse"}
      </button>
      <section>
        <h3>{counted(members.length, "node")}</h3>
        <ul className="members">
          {members.map((one) => (
            <li key={one.key}>
              <button type="button" className="source" onClick={() => choose([one.key])}>
                <bdi>{kindOf(one) === "note" ? textOf(one).slice(0, 60) || "Note" : labelOf(one)}</bdi>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <p className="about">A group is read by people only: what runs, and in which order, the connections say.</p>
    </div>
  );
}
