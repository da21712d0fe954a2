// The side panel: what is chosen, and everything that can be said about it. Chosen nothing: the workflow itself.
import { type ReactElement, useState } from "react";
import { readables } from "../model/activities";
import { setEdgeData, setNodeData, setNodeKey, withKey } from "../model/changes";
import { type CanvasEdge, type CanvasNode, configOf, dataOf, kindOf, labelOf, stateTypeOf } from "../model/document";
import { isObject, type Json, type JsonObject, objectOr, textOr } from "../model/json";
import { useRun } from "../run";
import { canvasNow, change, closeGroup, editor, useEditor } from "../store";
import { Arrange } from "./Arrange";
import { EdgeForm } from "./EdgeForm";
import { Icon } from "./icons";
import { RunDetails } from "./RunDetails";
import { counted, TextRow } from "./TextRow";
import { FieldRow, JsonControl } from "./values";

export function Panel(): ReactElement {
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const canvas = useEditor((state) => state.history.present);
  const node = nodes.size === 1 ? canvas.nodes.find((one) => nodes.has(one.key)) : undefined;
  const edge = !nodes.size && edges.size === 1 ? canvas.edges.find((one) => edges.has(one.key)) : undefined;
  return (
    <aside className="panel" aria-label="Properties" onBlur={closeGroup}>
      {node ? (
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

function NodePanel({ node }: { node: CanvasNode }): ReactElement {
  const [tab, setTab] = useState<"form" | "json" | "run">("form");
  const isWatched = useRun((run) => run.execution !== "");
  const activities = useEditor((state) => state.activities);
  const activity = activities.of(node);
  const kind = kindOf(node);
  const shown = tab === "run" && !isWatched ? "form" : tab;
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">{labelOf(node)}</h2>
          <p className="quiet small">
            <code>{node.key.slice(0, 128)}</code>{" "}
            {stateTypeOf(node) || activity?.name || (kind === "activity" ? "unknown activity" : kind)}
          </p>
        </div>
      </header>
      <div className="tabs" role="tablist">
        <Tab name="form" now={shown} set={setTab} text="Settings" />
        <Tab name="json" now={shown} set={setTab} text="JSON" />
        {isWatched && <Tab name="run" now={shown} set={setTab} text="Run" />}
      </div>
      <div className="scroll" role="tabpanel">
        {shown === "run" ? (
          <RunDetails node={node.key} />
        ) : shown === "json" ? (
          <RawData node={node} />
        ) : (
          <NodeForm node={node} />
        )}
      </div>
    </>
  );
}

function Tab<T extends string>({
  name,
  now,
  set,
  text,
}: {
  name: T;
  now: T;
  set: (name: T) => void;
  text: string;
}): ReactElement {
  return (
    <button type="button" role="tab" aria-selected={name === now} onClick={() => set(name)}>
      {text}
    </button>
  );
}

function Marks({ list }: { list: { severity: string; message: string; suggestion: string }[] }): ReactElement | null {
  if (!list.length) return null;
  return (
    <ul className="marks">
      {list.slice(0, 20).map((problem, index) => (
        <li key={index} className={problem.severity === "error" ? "tone-bad" : "tone-wait"}>
          <Icon name={problem.severity === "error" ? "cross" : "warning"} />
          <span>
            {problem.message}
            {problem.suggestion && <span className="quiet"> {problem.suggestion}.</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function NodeForm({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const activities = useEditor((state) => state.activities);
  const marks = useEditor((state) => state.nodeMarks.get(node.key)) ?? [];
  const kind = kindOf(node);
  const activity = activities.of(node);
  const fields = activities.inputsOf(node);
  const config = configOf(node);
  const known = new Set(fields.map((field) => field.name));
  const others = Object.keys(config).filter((name) => !known.has(name));
  const key = node.key;
  const isOdd = dataOf(node).config !== undefined && !isObject(dataOf(node).config);
  function set(name: string, value: Json | undefined): void {
    change(
      (canvas) => setNodeKey(canvas, key, "config", withKey(configOfKey(key), name, value)),
      `${key} config ${name}`,
    );
  }
  const parameterProblem = (name: string) => marks.find((problem) => problem.parameter === name)?.message ?? "";
  return (
    <div className="form">
      <Marks list={marks.filter((problem) => !problem.parameter || !known.has(problem.parameter))} />
      <TextRow
        label="Label"
        value={textOr(dataOf(node).label)}
        placeholder={node.key}
        disabled={!mayEdit}
        onChange={(text) => change((canvas) => setNodeKey(canvas, key, "label", text), `${key} label`)}
      />
      {activity && <p className="about lead-text">{activity.description}</p>}
      {isOdd && <p className="problem-text">The configuration is no object; see JSON.</p>}
      {kind === "start" && (
        <Inputs
          config={config}
          disabled={!mayEdit}
          onChange={(value) => change((canvas) => setNodeKey(canvas, key, "config", value), `${key} inputs`)}
        />
      )}
      {kind === "end" && <p className="about">What leads here ends the run. An end has no settings of its own.</p>}
      {kind === "activity" && !activity && !stateTypeOf(node) && (
        <p className="about">
          This server has no such activity, so its fields are not known. What is configured is kept and can be edited
          here and as JSON.
        </p>
      )}
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={config[field.name]}
          disabled={!mayEdit}
          problem={parameterProblem(field.name)}
          sources={() => readables(canvasNow(), activities, key, field.type)}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      {kind === "activity" && others.length > 0 && (
        <section>
          <h3>{known.size ? "Other keys" : "Configuration"}</h3>
          {others.map((name) => (
            <FieldRow
              key={name}
              field={{ name, type: "any", description: "", required: false, examples: [], enum: null }}
              value={config[name]}
              disabled={!mayEdit}
              problem=""
              sources={() => readables(canvasNow(), activities, key, "any")}
              onChange={(value) => set(name, value)}
            />
          ))}
        </section>
      )}
      {kind === "activity" && !stateTypeOf(node) && <Limits node={node} disabled={!mayEdit} />}
      {activity && activity.outputs.length > 0 && (
        <section>
          <h3>Gives</h3>
          <dl className="outputs">
            {activity.outputs.map((field) => (
              <div key={field.name}>
                <dt>
                  <code>{field.name}</code> <span className="quiet type">{field.type}</span>
                </dt>
                <dd className="quiet small">{field.description}</dd>
              </div>
            ))}
          </dl>
          {activity.notes && <p className="about">{activity.notes}</p>}
        </section>
      )}
    </div>
  );
}

function configOfKey(key: string): JsonObject {
  const node = canvasNow().nodes.find((one) => one.key === key);
  return node ? configOf(node) : {};
}

function Inputs({
  config,
  disabled,
  onChange,
}: {
  config: JsonObject;
  disabled: boolean;
  onChange: (value: Json | undefined) => void;
}): ReactElement {
  const field = { name: "inputs", type: "object", description: "", required: false, examples: [], enum: null };
  return (
    <div className="field">
      <label htmlFor="start-inputs">Inputs and their defaults (JSON)</label>
      <JsonControl
        id="start-inputs"
        field={field}
        value={config}
        disabled={disabled}
        describedBy="start-about"
        onChange={(value) => isObject(value) && onChange(value)}
      />
      <p id="start-about" className="about">
        What a run may be given, such as <code>{'{"repo": "https://…"}'}</code>; steps read it as{" "}
        <code>{"${workflow.input.repo}"}</code>.
      </p>
    </div>
  );
}

// Timeout and retries; left out, the activity's own count.
function Limits({ node, disabled }: { node: CanvasNode; disabled: boolean }): ReactElement {
  const activity = useEditor((state) => state.activities).of(node);
  const data = dataOf(node);
  const key = node.key;
  const retry = data.retry;
  return (
    <section>
      <h3>When it takes long or fails</h3>
      <TextRow
        label="Timeout"
        value={textOr(data.timeout)}
        placeholder={activity ? `${activity.timeout} (default)` : ""}
        disabled={disabled}
        about="Such as 90s, 5m or 1h30m."
        onChange={(text) => change((canvas) => setNodeKey(canvas, key, "timeout", text || undefined), `${key} timeout`)}
      />
      {isObject(retry) ? (
        <p className="about">Retries are set in detail; see JSON.</p>
      ) : (
        <TextRow
          label="Attempts"
          value={retry === undefined || retry === null ? "" : String(retry)}
          placeholder={activity ? `${activity.retries} (default)` : ""}
          disabled={disabled}
          about="How often it is tried at most."
          onChange={(text) =>
            change(
              (canvas) =>
                setNodeKey(
                  canvas,
                  key,
                  "retry",
                  text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text,
                ),
              `${key} retry`,
            )
          }
        />
      )}
    </section>
  );
}

// Everything a node or a connection holds, keys included that the form does not know.
function RawData({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  return (
    <Raw
      value={dataOf(node)}
      disabled={!mayEdit}
      onChange={(data) => change((canvas) => setNodeData(canvas, node.key, data), `${node.key} json`)}
    />
  );
}

function Raw({
  value,
  disabled,
  onChange,
}: {
  value: JsonObject;
  disabled: boolean;
  onChange: (value: JsonObject) => void;
}): ReactElement {
  const field = { name: "data", type: "object", description: "", required: false, examples: [], enum: null };
  return (
    <div className="form raw">
      <label htmlFor="raw-data">data</label>
      <JsonControl
        id="raw-data"
        field={field}
        value={value}
        disabled={disabled}
        describedBy="raw-about"
        onChange={(data) => isObject(data) && onChange(data)}
      />
      <p id="raw-about" className="about">
        As it is saved. Keys that the form does not know are kept.
      </p>
    </div>
  );
}

function EdgePanel({ edge }: { edge: CanvasEdge }): ReactElement {
  const [tab, setTab] = useState<"form" | "json">("form");
  const mayEdit = useEditor((state) => state.mayEdit);
  const marks = useEditor((state) => state.edgeMarks.get(edge.key)) ?? [];
  const canvas = useEditor((state) => state.history.present);
  const named = (key: string) => {
    const node = canvas.nodes.find((one) => one.key === key);
    return node ? labelOf(node) : key;
  };
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">
            {named(edge.source)} → {named(edge.target)}
          </h2>
          <p className="quiet small">
            <code>{edge.key.slice(0, 80)}</code> connection
          </p>
        </div>
      </header>
      <div className="tabs" role="tablist">
        <Tab name="form" now={tab} set={setTab} text="Settings" />
        <Tab name="json" now={tab} set={setTab} text="JSON" />
      </div>
      <div className="scroll" role="tabpanel">
        {tab === "json" ? (
          <Raw
            value={objectOr(edge.raw.data)}
            disabled={!mayEdit}
            onChange={(data) => change((now) => setEdgeData(now, edge.key, data), `${edge.key} json`)}
          />
        ) : (
          <div className="form">
            <Marks list={marks} />
            <EdgeForm edge={edge} />
          </div>
        )}
      </div>
    </>
  );
}

function WorkflowPanel(): ReactElement {
  const canvas = useEditor((state) => state.history.present);
  const mayEdit = useEditor((state) => state.mayEdit);
  const set = (key: "name" | "description" | "status", text: string) =>
    change((now) => ({ ...now, [key]: text }), `workflow ${key}`);
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
          {!mayEdit && <p className="about">You may look at this canvas. Changing it needs the role editor.</p>}
          {mayEdit && editor.getState().workflow && (
            <p className="about">Choose a node or a connection to change it. Press ? for all keys.</p>
          )}
        </div>
      </div>
    </>
  );
}
