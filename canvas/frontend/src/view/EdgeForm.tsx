// What a connection means: its type, when it is taken, and how people say it.
import type { ReactElement } from "react";
import { setEdgeData, withKey } from "../model/changes";
import type { CanvasEdge } from "../model/document";
import { type Json, objectOr, textOr } from "../model/json";
import { change, useEditor } from "../store";
import { TextRow } from "./TextRow";

const TYPES = [
  ["data-flow", "data flow: orders, and gives parameters"],
  ["dependency", "dependency: only orders"],
  ["conditional", "conditional: taken when its condition holds"],
  ["parallel", "parallel: as data flow, side by side"],
];
const WORDS = [
  ["verb", "Verb", "Such as outputs or triggers"],
  ["source_output", "Gives", "What the first step gives"],
  ["target_input", "Needs", "What the next one needs"],
  ["semantic_match", "Why they fit", ""],
  ["transformer_needed", "Transformation needed", ""],
] as const;

export function EdgeForm({ edge }: { edge: CanvasEdge }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const data = objectOr(edge.raw.data);
  const wording = objectOr(data.relation_wording);
  const condition = textOr(data.condition);
  const type = textOr(data.relation_type) || (condition ? "conditional" : "data-flow");
  function set(name: string, value: Json | undefined): void {
    change((canvas) => setEdgeData(canvas, edge.key, withKey(data, name, value)), `${edge.key} ${name}`);
  }
  function setCondition(text: string): void {
    const typed = text ? "conditional" : type === "conditional" ? undefined : data.relation_type;
    const next = withKey(withKey(data, "condition", text || undefined), "relation_type", typed);
    change((canvas) => setEdgeData(canvas, edge.key, next), `${edge.key} condition`);
  }
  return (
    <>
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
      <label className="field">
        Condition
        <textarea
          className="mono"
          rows={2}
          spellCheck={false}
          value={condition}
          disabled={!mayEdit}
          placeholder='riskLevel == "high"'
          onChange={(event) => setCondition(event.target.value)}
        />
        <span className="about">
          Bare names read what the first step gives; <code>else</code> is taken when no other holds;{" "}
          <code>{"{% … %}"}</code> is JSONata. Empty: always taken.
        </span>
      </label>
      <TextRow
        label="Label"
        value={textOr(data.relation_label) || textOr(data.label)}
        disabled={!mayEdit}
        onChange={(text) => set("relation_label", text || undefined)}
      />
      <h3>Wording</h3>
      {WORDS.map(([name, label, about]) => (
        <TextRow
          key={name}
          label={label}
          value={textOr(wording[name])}
          disabled={!mayEdit}
          about={about}
          onChange={(text) => set("relation_wording", withKey(wording, name, text || undefined))}
        />
      ))}
      <label className="field">
        Confidence{typeof wording.confidence === "number" ? `: ${wording.confidence}` : ": not said"}
        <input
          type="range"
          min="0"
          max="1"
          step="0.05"
          value={typeof wording.confidence === "number" ? wording.confidence : 0}
          disabled={!mayEdit}
          onChange={(event) => set("relation_wording", { ...wording, confidence: Number(event.target.value) })}
        />
      </label>
    </>
  );
}
