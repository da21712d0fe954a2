// Controls for one value of a configuration, by its type. Each can hold a reference in place of the value.
import { type ReactElement, useEffect, useId, useRef, useState } from "react";
import type { Field, Readable } from "../model/activities";
import { isEqual, type Json } from "../model/json";
import { Icon } from "./icons";

export function isReference(value: Json | undefined): value is string {
  return typeof value === "string" && /\$\{|\{%/.test(value);
}

interface Control {
  id: string;
  field: Field;
  value: Json | undefined; // undefined: left out
  disabled: boolean;
  describedBy: string;
  onChange: (value: Json | undefined) => void;
}

export function FieldRow({
  field,
  value,
  disabled,
  problem,
  sources,
  onChange,
}: Omit<Control, "id" | "describedBy"> & { problem: string; sources: () => Readable[] }): ReactElement {
  const id = useId();
  const [isPicking, setPicking] = useState(false);
  const Kind = isReference(value) ? TextControl : controlOf(field);
  const described = `${id}-about`;
  const isSecret = /secret:<id>/.test(field.description);
  return (
    <div className={`field${problem ? " wrong" : ""}`} data-field={field.name}>
      <div className="field-head">
        <label htmlFor={id}>
          {field.name}
          {field.required && (
            <abbr title="required" className="required">
              *
            </abbr>
          )}
        </label>
        <span className="quiet type">{field.type}</span>
        {!disabled && (
          <button
            type="button"
            className="plain"
            title={`Take ${field.name} from before`}
            aria-expanded={isPicking}
            onClick={() => setPicking(!isPicking)}
          >
            <Icon name="link" />
            <span className="hidden">Take {field.name} from an input or an earlier step</span>
          </button>
        )}
      </div>
      <Kind id={id} field={field} value={value} disabled={disabled} describedBy={described} onChange={onChange} />
      {isPicking && (
        <Sources
          list={sources()}
          onPick={(text) => {
            const isText = field.type === "string" && typeof value === "string" && value !== "" && !field.enum;
            onChange(isText ? `${value}${text}` : text);
            setPicking(false);
          }}
        />
      )}
      <p id={described} className="about">
        {problem && <strong className="problem-text">{problem} </strong>}
        {field.description && `${field.description}.`.replace(/\.\.$/, ".")}
        {isSecret && !/handle/.test(field.description) ? " A secret is kept encrypted when this is saved." : ""}
        {field.examples.length > 0 && (
          <span className="quiet">
            {" "}
            For example {field.examples.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ")}.
          </span>
        )}
      </p>
    </div>
  );
}

function controlOf(field: Field): (props: Control) => ReactElement {
  if (field.enum) return EnumControl;
  if (field.type === "boolean") return EnumControl;
  if (field.type === "integer" || field.type === "number") return NumberControl;
  if (field.type === "string") return TextControl;
  return JsonControl;
}

function defaultOf(field: Field): string {
  return field.default === undefined
    ? ""
    : typeof field.default === "string"
      ? field.default
      : JSON.stringify(field.default);
}

function TextControl({ id, field, value, disabled, describedBy, onChange }: Control): ReactElement {
  const text = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  const rows = Math.min(
    10,
    Math.max(/prompt|message|body|description/.test(field.name) ? 3 : 1, text.split("\n", 12).length),
  );
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
      required={field.required}
      onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
    />
  );
}

function EnumControl({ id, field, value, disabled, describedBy, onChange }: Control): ReactElement {
  const options = field.enum ?? [true, false];
  const chosen = value === undefined ? -1 : options.findIndex((one) => isEqual(one, value));
  const preset = defaultOf(field);
  return (
    <select
      id={id}
      value={value === undefined ? "" : chosen < 0 ? "other" : String(chosen)}
      disabled={disabled}
      aria-describedby={describedBy}
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

// What is typed is kept while it is not a value yet.
function useTyped(
  value: Json | undefined,
  spoken: (value: Json | undefined) => string,
): [string, (text: string, meant: Json | undefined) => void] {
  const [typed, setTyped] = useState({ text: spoken(value), value });
  const isOwn = isEqual(typed.value, value);
  return [isOwn ? typed.text : spoken(value), (text, meant) => setTyped({ text, value: meant })];
}

function NumberControl({ id, field, value, disabled, describedBy, onChange }: Control): ReactElement {
  const [text, keep] = useTyped(value, (one) =>
    one === undefined ? "" : typeof one === "string" ? one : JSON.stringify(one),
  );
  const number = Number(text);
  const isNumber =
    text.trim() !== "" && Number.isFinite(number) && (field.type === "number" || Number.isInteger(number));
  const isWithin = number >= (field.minimum ?? number) && number <= (field.maximum ?? number);
  const isWrong = text.trim() !== "" && !isReference(text) && !(isNumber && isWithin);
  const limits = [
    field.minimum !== undefined && `from ${field.minimum}`,
    field.maximum !== undefined && `up to ${field.maximum}`,
  ]
    .filter(Boolean)
    .join(" ");
  return (
    <>
      <input
        id={id}
        inputMode={field.type === "integer" ? "numeric" : "decimal"}
        value={text}
        disabled={disabled}
        placeholder={defaultOf(field)}
        aria-describedby={describedBy}
        aria-invalid={isWrong || undefined}
        onChange={(event) => {
          const typed = event.target.value;
          const meant = typed.trim() === "" ? undefined : Number.isFinite(Number(typed)) ? Number(typed) : typed;
          keep(typed, meant);
          onChange(meant);
        }}
      />
      {isWrong && (
        <p className="problem-text">
          Expected {field.type === "integer" ? "a whole number" : "a number"}
          {limits && ` ${limits}`}, or a reference.
        </p>
      )}
    </>
  );
}

function pretty(value: Json | undefined): string {
  return value === undefined ? "" : isReference(value) ? value : JSON.stringify(value, null, 2);
}

export function JsonControl({ id, field, value, disabled, describedBy, onChange }: Control): ReactElement {
  const shown = pretty(value);
  const [text, setText] = useState(shown);
  const [fault, setFault] = useState("");
  const own = useRef(value);
  useEffect(() => {
    if (isEqual(own.current, value)) return;
    own.current = value;
    setText(pretty(value));
    setFault("");
  }, [value]);
  function take(typed: string): void {
    setText(typed);
    let meant: Json | undefined;
    if (typed.trim() && !/^\s*(\$\{|\{%)/.test(typed)) {
      try {
        meant = JSON.parse(typed) as Json;
      } catch (error) {
        setFault(`Not taken over yet, since this is no JSON: ${error instanceof Error ? error.message : error}`);
        return;
      }
    } else meant = typed.trim() ? typed : undefined;
    setFault("");
    own.current = meant;
    onChange(meant);
  }
  return (
    <>
      <textarea
        id={id}
        className="mono"
        rows={Math.min(14, Math.max(2, text.split("\n", 16).length))}
        spellCheck={false}
        value={text}
        disabled={disabled}
        placeholder={defaultOf(field) || (field.type === "array" ? "[ ]" : "JSON")}
        aria-describedby={describedBy}
        aria-invalid={fault !== "" || undefined}
        onChange={(event) => take(event.target.value)}
      />
      {fault && <p className="problem-text">{fault}</p>}
    </>
  );
}

function Sources({ list, onPick }: { list: Readable[]; onPick: (text: string) => void }): ReactElement {
  const [text, setText] = useState("");
  const found = list.filter((one) => `${one.node} ${one.name}`.toLowerCase().includes(text.toLowerCase()));
  const sorted = [...found.filter((one) => one.fits), ...found.filter((one) => !one.fits)];
  return (
    <section className="sources" aria-label="What is certain to be there">
      {list.length > 6 && (
        <input
          type="search"
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="Search"
          aria-label="Search what can be taken"
        />
      )}
      {sorted.map((one) => (
        <button
          key={one.text}
          type="button"
          className={`source${one.fits ? "" : " unfit"}`}
          onClick={() => onPick(one.text)}
          title={one.text}
        >
          <span dir="auto">{one.node || "Input of the run"}</span>
          <strong>{one.name}</strong>
          <span className="quiet type">{one.type}</span>
        </button>
      ))}
      {!list.length && (
        <p className="quiet small">
          Nothing is certain to be there: no earlier step gives anything, and the run has no inputs yet.
        </p>
      )}
    </section>
  );
}
