// What the next step takes over a connection, and the transformation where types do not fit.
import { type ReactElement, useMemo, useState } from "react";
import type { Field } from "../../model/activities";
import type { CanvasEdge } from "../../model/document";
import { labelOf } from "../../model/document";
import { mappingsOf, mappingText, setMapping } from "../../model/mapping";
import { change, useEditor } from "../../store";
import { Icon } from "../icons";
import { readsAt, TryIt } from "./TryIt";

export function Mappings({ edge, disabled }: { edge: CanvasEdge; disabled: boolean }): ReactElement | null {
  const canvas = useEditor((state) => state.history.present);
  const activities = useEditor((state) => state.activities);
  const [trying, setTrying] = useState("");
  const source = canvas.nodes.find((node) => node.key === edge.source);
  const target = canvas.nodes.find((node) => node.key === edge.target);
  const reads = useMemo(() => readsAt(edge.source), [edge.source]);
  if (!source || !target) return null;
  const inputs = activities.inputsOf(target);
  const outputs = activities.outputsOf(source);
  const mappings = mappingsOf(canvas, edge);
  if (!inputs.length || !outputs.length) return null;
  return (
    <section>
      <h3>What {labelOf(target)} takes</h3>
      {mappings.map(({ input, text }) => (
        <div key={input} className="field">
          <div className="field-head">
            <label htmlFor={`map-${input}`}>{input}</label>
            <span className="quiet type">{typeOf(inputs, input)}</span>
            <span className="field-deeds">
              {text.startsWith("{%") && (
                <button
                  type="button"
                  className="mode"
                  aria-expanded={trying === input}
                  onClick={() => setTrying(trying === input ? "" : input)}
                >
                  Try it
                </button>
              )}
              {!disabled && (
                <button
                  type="button"
                  className="plain"
                  title={`Take nothing for ${input}`}
                  onClick={() => change((now) => setMapping(now, target.key, input, undefined))}
                >
                  <Icon name="close" />
                  <span className="hidden">Take nothing for {input}</span>
                </button>
              )}
            </span>
          </div>
          <textarea
            id={`map-${input}`}
            className="mono reference"
            rows={Math.min(6, Math.max(1, text.split("\n").length, Math.ceil(text.length / 38)))}
            spellCheck={false}
            value={text}
            disabled={disabled}
            onChange={(event) =>
              change(
                (now) => setMapping(now, target.key, input, event.target.value || undefined),
                `${target.key} config ${input}`,
              )
            }
          />
          {trying === input && <TryIt text={text} source="" reads={reads} />}
        </div>
      ))}
      {!mappings.length && <p className="about">Nothing of {labelOf(source)} yet; it only comes first.</p>}
      {!disabled && (
        <Adding
          inputs={inputs.filter((field) => !mappings.some((one) => one.input === field.name))}
          outputs={outputs}
          onAdd={(input, output) => {
            const produced = output ? typeOf(outputs, output) : "object";
            const text = mappingText(source.key, output, produced, typeOf(inputs, input));
            change((now) => setMapping(now, target.key, input, text));
            if (text.startsWith("{%")) setTrying(input);
          }}
        />
      )}
    </section>
  );
}

function Adding({
  inputs,
  outputs,
  onAdd,
}: {
  inputs: Field[];
  outputs: Field[];
  onAdd: (input: string, output: string) => void;
}): ReactElement | null {
  const [input, setInput] = useState("");
  if (!inputs.length) return null;
  return (
    <div className="adding">
      <select aria-label="Input" value={input} onChange={(event) => setInput(event.target.value)}>
        <option value="">give it…</option>
        {inputs.map((field) => (
          <option key={field.name} value={field.name}>
            {field.name} ({field.type}){field.required ? " *" : ""}
          </option>
        ))}
      </select>
      <select
        aria-label="Output that it takes"
        value=""
        disabled={!input}
        onChange={(event) => {
          onAdd(input, event.target.value === "*" ? "" : event.target.value);
          setInput("");
        }}
      >
        <option value="">from…</option>
        {outputs.map((field) => (
          <option key={field.name} value={field.name}>
            {field.name} ({field.type})
          </option>
        ))}
        <option value="*">the whole output</option>
      </select>
    </div>
  );
}

function typeOf(fields: Field[], name: string): string {
  return fields.find((field) => field.name === name)?.type ?? "any";
}
