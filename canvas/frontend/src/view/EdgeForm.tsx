// What a connection means: when it is taken, what flows over it, and how people say it.
import { type ReactElement, useId, useMemo, useState } from "react";
import { setEdgeData, withKey } from "../model/changes";
import { type CanvasEdge, kindOf, stateTypeOf } from "../model/document";
import { ANY_ERROR, errorsOf, setErrors } from "../model/errors";
import { type Json, type JsonObject, objectOr, textOr } from "../model/json";
import { canvasNow, change, useEditor } from "../store";
import { ErrorNames } from "./panel/ErrorNames";
import { Mappings } from "./panel/Mappings";
import { readsAt, TryIt } from "./panel/TryIt";
import { TextRow } from "./TextRow";

const TYPES = [
  ["data-flow", "data flow: orders, and gives parameters"],
  ["dependency", "dependency: only orders"],
  ["conditional", "conditional: taken when its condition holds"],
  ["parallel", "parallel: as data flow, side by side"],
];
const KINDS = [
  ["", "not said"],
  ["direct-map", "direct: taken over as it is"],
  ["requires-transformer", "needs a transformation"],
  ["conditional", "conditional"],
];
const WORDS = [
  ["verb", "Verb", "Such as outputs or triggers"],
  ["source_output", "Gives", "What the first step gives"],
  ["target_input", "Needs", "What the next one needs"],
  ["semantic_match", "Why they fit", ""],
  ["transformer_needed", "Transformation needed", ""],
] as const;

function dataNow(key: string): JsonObject {
  return objectOr(canvasNow().edges.find((one) => one.key === key)?.raw.data);
}

export function EdgeForm({ edge }: { edge: CanvasEdge }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const data = objectOr(edge.raw.data);
  const wording = objectOr(data.relation_wording);
  const errors = errorsOf(edge);
  const type = textOr(data.relation_type) || (textOr(data.condition) ? "conditional" : "data-flow");
  const kind = textOr(wording.connection_type);
  function set(name: string, value: Json | undefined): void {
    change((canvas) => setEdgeData(canvas, edge.key, withKey(dataNow(edge.key), name, value)), `${edge.key} ${name}`);
  }
  function say(name: string, value: Json | undefined): void {
    const words = withKey(objectOr(dataNow(edge.key).relation_wording), name, value);
    set("relation_wording", Object.keys(words).length ? words : undefined);
  }
  return (
    <>
      <Taken edge={edge} disabled={!mayEdit} />
      {!errors.length && (
        <label className="field">
          Type
          <select value={type} disabled={!mayEdit} onChange={(event) => set("relation_type", event.target.value)}>
            {TYPES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
            {!TYPES.some(([value]) => value === type) && <option value={type}>{type} (not known)</option>}
          </select>
        </label>
      )}
      {!errors.length && <Mappings edge={edge} disabled={!mayEdit} />}
      <section>
        <h3>In words</h3>
        <TextRow
          label="Label"
          value={textOr(data.relation_label) || textOr(data.label)}
          disabled={!mayEdit}
          onChange={(text) => set("relation_label", text || undefined)}
        />
        {WORDS.map(([name, label, about]) => (
          <TextRow
            key={name}
            label={label}
            value={textOr(wording[name])}
            disabled={!mayEdit}
            about={about}
            onChange={(text) => say(name, text || undefined)}
          />
        ))}
        <label className="field">
          Kind of connection
          <select
            value={kind}
            disabled={!mayEdit}
            onChange={(event) => say("connection_type", event.target.value || undefined)}
          >
            {KINDS.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
            {!KINDS.some(([value]) => value === kind) && <option value={kind}>{kind} (not known)</option>}
          </select>
        </label>
        <label className="field">
          Confidence
          {typeof wording.confidence === "number" ? `: ${Math.round(wording.confidence * 100)} %` : ": not said"}
          <input
            type="range"
            min="0"
            max="1"
            step="0.05"
            value={typeof wording.confidence === "number" ? wording.confidence : 0}
            disabled={!mayEdit}
            onChange={(event) => say("confidence", Number(event.target.value))}
          />
        </label>
      </section>
    </>
  );
}

// After the step before: always or when a condition holds; or after its failure.
function Taken({ edge, disabled }: { edge: CanvasEdge; disabled: boolean }): ReactElement {
  const canvas = useEditor((state) => state.history.present);
  const data = objectOr(edge.raw.data);
  const condition = textOr(data.condition);
  const errors = errorsOf(edge);
  const [isTrying, setTrying] = useState(false);
  const id = useId();
  const source = canvas.nodes.find((node) => node.key === edge.source);
  const isStart = source !== undefined && kindOf(source) === "start";
  const mayFail = source !== undefined && kindOf(source) === "activity" && stateTypeOf(source) !== "Wait";
  const reads = useMemo(() => (isStart ? [] : readsAt(edge.source)), [isStart, edge.source]);
  const now = errors.length ? "failure" : "success";
  function setCondition(text: string): void {
    change((canvas) => {
      const before = withKey(dataNow(edge.key), "on_error", undefined);
      const type = text ? "conditional" : before.relation_type === "conditional" ? undefined : before.relation_type;
      return setEdgeData(
        canvas,
        edge.key,
        withKey(withKey(before, "condition", text || undefined), "relation_type", type),
      );
    }, `${edge.key} condition`);
  }
  function turn(to: string): void {
    if (to === "failure") change((canvas) => setErrors(canvas, edge.key, [ANY_ERROR]));
    else change((canvas) => setErrors(canvas, edge.key, []));
  }
  const modes = [
    ["success", isStart ? "When it begins" : "When it succeeded"],
    ["failure", "When it failed"],
  ];
  return (
    <section className="taken">
      <fieldset className="segments" disabled={disabled} aria-label="When it is taken">
        {modes.map(([value = "", text]) => (
          <button
            key={value}
            type="button"
            aria-pressed={now === value}
            disabled={value === "failure" && !mayFail}
            onClick={() => now !== value && turn(value)}
          >
            {text}
          </button>
        ))}
      </fieldset>
      {now === "success" && (
        <>
          <div className="field">
            <label htmlFor={id}>Condition</label>
            <textarea
              id={id}
              aria-describedby={`${id}-about`}
              className="mono"
              rows={Math.min(6, Math.max(2, condition.split("\n").length))}
              spellCheck={false}
              value={condition}
              disabled={disabled}
              placeholder='riskLevel == "high"'
              onChange={(event) => setCondition(event.target.value)}
            />
            <p id={`${id}-about`} className="about">
              Bare names read what the first step gives; <code>else</code> is taken when no other holds;{" "}
              <code>{"{% … %}"}</code> is JSONata. Empty: always taken.
            </p>
          </div>
          {!disabled && condition && (
            <details className="more" open={isTrying} onToggle={(event) => setTrying(event.currentTarget.open)}>
              <summary>Try it on sample data</summary>
              <div className="more-body">
                {isTrying && <TryIt text={condition} source={isStart ? "workflow" : edge.source} reads={reads} />}
              </div>
            </details>
          )}
        </>
      )}
      {now === "failure" && (
        <div className="field">
          <span className="label">Taken on</span>
          <ErrorNames
            names={errors}
            mayBeAny
            disabled={disabled}
            onChange={(names) =>
              names.length && change((canvas) => setErrors(canvas, edge.key, names), `${edge.key} errors`)
            }
          />
          <span className="about">
            After the last retry. Behind it <code>{`\${${edge.source}.error.message}`}</code> says what went wrong; the
            other connections of the step are then not taken.
          </span>
        </div>
      )}
    </section>
  );
}
