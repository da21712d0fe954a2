// What the start node says: the inputs that a run may be given, with their defaults.
import type { ReactElement } from "react";
import { isObject, type Json, type JsonObject } from "../../model/json";
import { JsonField } from "./JsonField";

export function Inputs({
  config,
  disabled,
  onChange,
}: {
  config: JsonObject;
  disabled: boolean;
  onChange: (value: Json | undefined) => void;
}): ReactElement {
  return (
    <div className="field">
      <span className="label">Inputs and their defaults (JSON)</span>
      <JsonField
        id="start-inputs"
        label="Inputs and their defaults (JSON)"
        value={config}
        disabled={disabled}
        describedBy="start-about"
        isObject
        onChange={(value) => isObject(value) && onChange(value)}
      />
      <p id="start-about" className="about">
        What a run may be given, such as <code>{'{"repo": "https://…"}'}</code>; steps read it as{" "}
        <code>{"${workflow.input.repo}"}</code>.
      </p>
    </div>
  );
}
