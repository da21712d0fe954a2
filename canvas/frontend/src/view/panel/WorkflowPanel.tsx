// What is said of the workflow itself, shown while nothing is chosen.
import type { ReactElement } from "react";
import { kindOf } from "../../model/document";
import { change, editor, useEditor } from "../../store";
import { counted, TextRow } from "../TextRow";
import { WorkflowLimits } from "./WorkflowLimits";

export function WorkflowPanel(): ReactElement {
  const canvas = useEditor((state) => state.history.present);
  const mayEdit = useEditor((state) => state.mayEdit);
  const set = (key: "name" | "description" | "status", text: string) =>
    change((now) => ({ ...now, [key]: text }), `workflow ${key}`);
  const start = canvas.nodes.find((node) => kindOf(node) === "start");
  const count = canvas.odd.nodes.length + canvas.odd.edges.length;
  return (
    <>
      <header>
        <div className="grow">
          <h2>Workflow</h2>
          <p className="quiet small">
            {counted(canvas.nodes.length, "node")}, {counted(canvas.edges.length, "connection")}
          </p>
        </div>
      </header>
      <div className="scroll">
        <div className="form">
          {count > 0 && (
            <p className="problem-text">
              {count} elements of the canvas are no objects and cannot be drawn. They are kept as they are.
            </p>
          )}
          <TextRow label="Name" value={canvas.name} disabled={!mayEdit} onChange={(text) => set("name", text)} />
          <label className="field">
            Description
            <textarea
              rows={4}
              dir="auto"
              value={canvas.description}
              disabled={!mayEdit}
              onChange={(event) => set("description", event.target.value)}
            />
          </label>
          <label className="field">
            Status
            <select value={canvas.status} disabled={!mayEdit} onChange={(event) => set("status", event.target.value)}>
              <option value="draft">draft: may be unfinished</option>
              <option value="active">active: must be right to be saved</option>
              <option value="archived">archived: no longer starts</option>
            </select>
          </label>
          {start && <WorkflowLimits start={start} disabled={!mayEdit} />}
          {!mayEdit && <p className="about">You may look at this canvas. Changing it needs the role editor.</p>}
          {mayEdit && editor.getState().workflow && (
            <p className="about">Choose a node or a connection to change it. Press ? for all keys.</p>
          )}
        </div>
      </div>
    </>
  );
}
