// Controls for one text, one number, one choice, and for a value that may be anything.
import { type ReactElement, useState } from "react";
import { isEqual, type Json } from "../../model/json";
import { isReference, LONGEST_SHOWN, textOf } from "../../model/jsonText";
import { type ControlProps, defaultOf } from "./control";
import { JsonField } from "./JsonField";

const LONG_TEXT = 1_000; // characters that a field may hold from which on it is meant for several lines

export function TextControl({
  id,
  field,
  value,
  disabled,
  describedBy,
  isWrong,
  onChange,
}: ControlProps): ReactElement {
  const text = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  const [isOpen, setOpen] = useState(false);
  if (text.length > LONGEST_SHOWN && !isOpen) {
    return (
      <div className="large-value">
        <pre id={id} dir="auto">
          {text.slice(0, 2_000)}…
        </pre>
        <p className="about">The beginning of a text of {text.length.toLocaleString()} characters.</p>
        <button type="button" className="button" onClick={() => setOpen(true)}>
          Open the whole text
        </button>
      </div>
    );
  }
  const isLong =
    (field.maxLength ?? 0) > LONG_TEXT && !field.secrets?.match(/url|value/) && !/path|url/i.test(field.name);
  const rows = Math.min(10, Math.max(isLong ? 3 : 1, text.split("\n", 12).length));
  return (
    <textarea
      id={id}
      className={isReference(value) ? "mono reference" : ""}
      rows={rows}
      dir="auto"
      spellCheck={false}
      value={text}
      disabled={disabled}
      placeholder={defaultOf(field)}
      aria-describedby={describedBy}
      aria-invalid={isWrong || undefined}
      required={field.required}
      onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
    />
  );
}

export function ChoiceControl({
  id,
  field,
  value,
  disabled,
  describedBy,
  isWrong,
  onChange,
}: ControlProps): ReactElement {
  const options = field.enum ?? [true, false];
  const chosen = value === undefined ? -1 : options.findIndex((one) => isEqual(one, value));
  const preset = defaultOf(field);
  return (
    <select
      id={id}
      value={value === undefined ? "" : chosen < 0 ? "other" : String(chosen)}
      disabled={disabled}
      required={field.required}
      aria-describedby={describedBy}
      aria-invalid={isWrong || undefined}
      onChange={(event) => onChange(event.target.value === "" ? undefined : options[Number(event.target.value)])}
    >
      <option value="">{preset ? `${preset} (default)` : field.required ? "choose" : "left out"}</option>
      {value !== undefined && chosen < 0 && (
        <option value="other">{JSON.stringify(value).slice(0, 60)} (not one of these)</option>
      )}
      {options.map((one, index) => (
        <option key={JSON.stringify(one)} value={String(index)}>
          {String(one)}
        </option>
      ))}
    </select>
  );
}

// What is typed is kept while it is not a number yet.
export function NumberControl({
  id,
  field,
  value,
  disabled,
  describedBy,
  isWrong,
  onChange,
}: ControlProps): ReactElement {
  const spoken = (one: Json | undefined) =>
    one === undefined ? "" : typeof one === "string" ? one : JSON.stringify(one);
  const [typed, setTyped] = useState({ text: spoken(value), value });
  const text = isEqual(typed.value, value) ? typed.text : spoken(value);
  return (
    <input
      id={id}
      className={isReference(value) ? "mono reference" : ""}
      inputMode={field.type === "integer" && !isReference(value) ? "numeric" : "text"}
      value={text}
      disabled={disabled}
      required={field.required}
      placeholder={defaultOf(field)}
      autoComplete="off"
      aria-describedby={describedBy}
      aria-invalid={isWrong || undefined}
      onChange={(event) => {
        const now = event.target.value;
        const meant = now.trim() === "" ? undefined : Number.isFinite(Number(now)) ? Number(now) : now;
        setTyped({ text: now, value: meant });
        onChange(meant);
      }}
    />
  );
}

// Text as it is typed, or any other value as JSON.
export function AnyControl(props: ControlProps): ReactElement {
  const { id, field, value, disabled, describedBy, onChange } = props;
  const [mode, setMode] = useState<"text" | "json">(value === undefined || typeof value === "string" ? "text" : "json");
  const isText = mode === "text" && (value === undefined || typeof value === "string");
  function turn(): void {
    if (isText) {
      setMode("json");
      return;
    }
    setMode("text");
    if (value !== undefined && typeof value !== "string" && !disabled) onChange(textOf(value));
  }
  return (
    <>
      {isText ? (
        <TextControl {...props} />
      ) : (
        <JsonField
          id={id}
          label={field.name}
          value={value}
          disabled={disabled}
          describedBy={describedBy}
          hint={defaultOf(field) || "JSON"}
          onChange={onChange}
        />
      )}
      <fieldset className="row-of-modes" aria-label={`How ${field.name} is written`}>
        <button type="button" className="mode" aria-pressed={isText} onClick={() => isText || turn()}>
          Text
        </button>
        <button type="button" className="mode" aria-pressed={!isText} onClick={() => isText && turn()}>
          JSON
        </button>
      </fieldset>
    </>
  );
}
