// What the start node says: the inputs that a run may be given, with their defaults.
import type { ReactElement } from "react";
import { isObject, type Json, type JsonObject } from "../../model/json";
import { JsonControl } from "../values";

export function Inputs({
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
