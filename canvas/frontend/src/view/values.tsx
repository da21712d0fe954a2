// One field of a configuration: its name, the control for its type, what it may take from before, what is wrong with it.
import { type ReactElement, useId, useRef, useState } from "react";
import type { Field, Readable } from "../model/activities";
import { controlFor, spokenLimits, violation } from "../model/fields";
import { isReference } from "../model/jsonText";
import { HANDLE } from "../server/secrets";
import { Icon } from "./icons";
import { type ControlProps, defaultOf } from "./panel/control";
import { JsonField } from "./panel/JsonField";
import { ReferencePicker } from "./panel/ReferencePicker";
import { HeldSecret, SecretPicker } from "./panel/SecretPicker";
import { AnyControl, ChoiceControl, NumberControl, TextControl } from "./panel/scalars";
import { ListControl, RowsControl } from "./panel/several";

const CONTROLS = {
  choice: ChoiceControl,
  number: NumberControl,
  text: TextControl,
  list: ListControl,
  rows: RowsControl,
  any: AnyControl,
  json: JsonControl,
};

function JsonControl({ id, field, value, disabled, describedBy, onChange }: ControlProps): ReactElement {
  return (
    <JsonField
      id={id}
      label={field.name}
      value={value}
      disabled={disabled}
      describedBy={describedBy}
      hint={defaultOf(field) || (field.type === "array" ? "[ ]" : "{ }")}
      onChange={onChange}
    />
  );
}

export function FieldRow({
  field,
  value,
  disabled,
  problem,
  sources,
  onChange,
}: Omit<ControlProps, "id" | "describedBy" | "isWrong"> & {
  problem: string;
  sources: () => Readable[];
}): ReactElement {
  const id = useId();
  const [picking, setPicking] = useState<"" | "reference" | "secret">("");
  const described = `${id}-about`;
  const kind = controlFor(field, value);
  const isHeld = typeof value === "string" && HANDLE.test(value);
  // What is typed stays in the control it is typed in; only what nobody can type into a choice becomes a text.
  const Kind = isReference(value) && kind === "choice" ? TextControl : CONTROLS[kind];
  const fault = violation(field, value);
  const isForSecrets = field.secrets === "value" || field.secrets === "url";
  const isOneText = kind === "text" || (kind === "any" && (value === undefined || typeof value === "string"));
  const turn = (what: "reference" | "secret") => setPicking(picking === what ? "" : what);
  const left = useRef<number | null>(null); // where the text was last looked at
  // What is picked is the value, or goes into the text: where that was last looked at, else behind it. A secret
  // that may be the whole of a text, such as an address with its tokens, is the whole of it.
  function take(text: string): void {
    const isText = typeof value === "string" && value !== "" && !field.enum && kind !== "number" && !isHeld;
    const isWhole = picking === "secret" && field.secrets === "value" && field.type === "string";
    const goesInto = isText && !isWhole && (field.type === "string" || kind === "any");
    const at = left.current ?? (isText ? value.length : 0);
    onChange(goesInto ? value.slice(0, at) + text + value.slice(at) : text);
    left.current = null;
    setPicking("");
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only remembers where its text was left
    <div
      className={`field${problem || fault ? " wrong" : ""}`}
      data-field={field.name}
      onBlur={({ target }) => {
        if (target.id === id && target instanceof HTMLTextAreaElement) left.current = target.selectionEnd;
      }}
    >
      <div className="field-head">
        <label htmlFor={id}>
          {field.name}
          {field.required && (
            <abbr title="required" className="required">
              *
            </abbr>
          )}
        </label>
        <span className="quiet type">
          {field.types && field.type !== "any" ? field.types.join(" or ") : field.type}
        </span>
        {!disabled && (
          <span className="field-deeds">
            {isForSecrets && isOneText && (
              <button
                type="button"
                className="plain"
                title={`Put a secret into ${field.name}`}
                aria-expanded={picking === "secret"}
                onClick={() => turn("secret")}
              >
                <Icon name="lock" />
                <span className="hidden">Put a secret into {field.name}</span>
              </button>
            )}
            <button
              type="button"
              className="plain"
              title={`Take ${field.name} from before`}
              aria-expanded={picking === "reference"}
              onClick={() => turn("reference")}
            >
              <Icon name="link" />
              <span className="hidden">Take {field.name} from an input or an earlier step</span>
            </button>
          </span>
        )}
      </div>
      {isHeld ? (
        <HeldSecret handle={value} disabled={disabled} onRemove={() => onChange(undefined)} />
      ) : (
        <Kind
          id={id}
          field={field}
          value={value}
          disabled={disabled}
          describedBy={described}
          isWrong={Boolean(problem || fault)}
          onChange={onChange}
        />
      )}
      {picking === "reference" && <ReferencePicker list={sources()} onPick={take} onClose={() => setPicking("")} />}
      {picking === "secret" && <SecretPicker onPick={take} onClose={() => setPicking("")} />}
      <p id={described} className="about">
        {(problem || fault) && <strong className="problem-text">{fault || problem} </strong>}
        <About field={field} isChoice={kind === "choice"} isWrong={fault !== ""} />
      </p>
    </div>
  );
}

function About({ field, isChoice, isWrong }: { field: Field; isChoice: boolean; isWrong: boolean }): ReactElement {
  const limits = isWrong ? "" : spokenLimits(field); // what is wrong says them already
  const isOpenSecret = field.secrets === "value" && !/handle|secret/i.test(field.description);
  return (
    <>
      {field.description && `${field.description}.`.replace(/\.\.$/, ".")}
      {limits && <span className="limits"> {limits.charAt(0).toUpperCase() + limits.slice(1)}.</span>}
      {!isChoice && defaultOf(field) !== "" && <span> Default: {defaultOf(field)}.</span>}
      {isOpenSecret && " A secret is kept encrypted when this is saved."}
      {field.examples.length > 0 && (
        <span className="quiet">
          {" "}
          For example {field.examples.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ")}.
        </span>
      )}
    </>
  );
}
