// Controls for several texts: a list of them, and a table of keys with one for each.
import { type ReactElement, useEffect, useRef, useState } from "react";
import { isEqual, type Json, type JsonObject, objectOr, textOr } from "../../model/json";
import { isReference } from "../../model/jsonText";
import { HANDLE } from "../../server/secrets";
import { Icon } from "../icons";
import { type ControlProps, defaultOf } from "./control";
import { HeldSecret, SecretPicker } from "./SecretPicker";
import { TextControl } from "./scalars";

// Looks at what was just added, so that it can be typed at once.
function useFocusOnNew(count: number): React.RefObject<HTMLFieldSetElement | null> {
  const place = useRef<HTMLFieldSetElement>(null);
  const before = useRef(count);
  const isAsked = place.current?.contains(document.activeElement) ?? false;
  useEffect(() => {
    if (count > before.current && isAsked) {
      const rows = place.current?.querySelectorAll<HTMLElement>(".several-row");
      rows?.[rows.length - 1]?.querySelector<HTMLElement>("input, select")?.focus();
    }
    before.current = count;
  }, [count, isAsked]);
  return place;
}

interface OneProps {
  label: string;
  value: string;
  options: Json[] | undefined;
  disabled: boolean;
  onChange: (text: string) => void;
  onEnter?: (() => void) | undefined;
}

function One({ label, value, options, disabled, onChange, onEnter }: OneProps): ReactElement {
  if (HANDLE.test(value)) return <HeldSecret handle={value} disabled={disabled} onRemove={() => onChange("")} />;
  if (options && !isReference(value)) {
    return (
      <select aria-label={label} value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
        {!options.includes(value) && <option value={value}>{value || "choose"}</option>}
        {options.map((one) => (
          <option key={String(one)}>{String(one)}</option>
        ))}
      </select>
    );
  }
  return (
    <input
      aria-label={label}
      dir="auto"
      className={isReference(value) ? "mono reference" : ""}
      value={value}
      disabled={disabled}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !onEnter || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onEnter();
      }}
    />
  );
}

function Remove({ what, onClick }: { what: string; onClick: () => void }): ReactElement {
  return (
    <button type="button" className="plain" title={`Remove ${what}`} onClick={onClick}>
      <Icon name="close" />
      <span className="hidden">Remove {what}</span>
    </button>
  );
}

export function ListControl(props: ControlProps): ReactElement {
  const { id, field, value, disabled, describedBy, onChange } = props;
  const read = (one: Json | undefined) => (Array.isArray(one) ? one.map((part) => textOr(part)) : []);
  const [typed, setTyped] = useState({ list: read(value), value });
  const list = isEqual(typed.value, value) ? typed.list : read(value);
  const options = Array.isArray(field.items?.enum) ? field.items.enum : undefined;
  const place = useFocusOnNew(list.length);
  if (isReference(value)) return <TextControl {...props} />;
  // A line that nothing is written in yet is no element.
  function set(next: string[]): void {
    const written = next.filter(Boolean);
    const meant = written.length ? written : undefined;
    setTyped({ list: next, value: meant });
    if (!isEqual(meant, value)) onChange(meant);
  }
  const add = () => set([...list, ""]);
  const isFull = list.length >= (field.maxItems ?? Number.POSITIVE_INFINITY);
  return (
    <fieldset id={id} ref={place} className="several" aria-label={field.name} aria-describedby={describedBy}>
      {list.map((one, index) => (
        <div key={index} className="several-row list">
          <One
            label={`${field.name} ${index + 1}`}
            value={one}
            options={options}
            disabled={disabled}
            onChange={(text) => set(list.with(index, text))}
            onEnter={isFull ? undefined : add}
          />
          {!disabled && <Remove what={`${field.name} ${index + 1}`} onClick={() => set(list.toSpliced(index, 1))} />}
        </div>
      ))}
      {!list.length && <p className="quiet small">{defaultOf(field) ? `${defaultOf(field)} (default)` : "None."}</p>}
      {!disabled && (
        <button type="button" className="plain add" onClick={add} disabled={isFull}>
          <Icon name="plus" /> Add
        </button>
      )}
    </fieldset>
  );
}

interface Row {
  name: string;
  text: string;
}

function rowsOf(value: Json | undefined): Row[] {
  return Object.entries(objectOr(value)).map(([name, one]) => ({ name, text: textOr(one) }));
}

// A row without a key, or with one that is there already, is kept here until it has one of its own.
function tableOf(rows: Row[]): JsonObject | undefined {
  const table: JsonObject = {};
  for (const { name, text } of rows) if (name && !Object.hasOwn(table, name)) table[name] = text;
  return Object.keys(table).length ? table : undefined;
}

export function RowsControl(props: ControlProps): ReactElement {
  const { id, field, value, disabled, describedBy, onChange } = props;
  const [typed, setTyped] = useState({ rows: rowsOf(value), value });
  const rows = isEqual(typed.value, value) ? typed.rows : rowsOf(value);
  const place = useFocusOnNew(rows.length);
  const [picking, setPicking] = useState(-1); // the row that a secret is looked for
  if (isReference(value)) return <TextControl {...props} />;
  const options = Array.isArray(field.values?.enum) ? field.values.enum : undefined;
  function set(next: Row[]): void {
    const meant = tableOf(next);
    setTyped({ rows: next, value: meant });
    if (!isEqual(meant, value)) onChange(meant);
  }
  const add = () => set([...rows, { name: "", text: "" }]);
  const twice = rows.find((row, index) => row.name && rows.findIndex((one) => one.name === row.name) < index);
  return (
    <fieldset id={id} ref={place} className="several" aria-label={field.name} aria-describedby={describedBy}>
      {rows.map((row, index) => (
        <div key={index} className={`several-row table${field.secrets === "value" ? " with-lock" : ""}`}>
          <One
            label={`Key ${index + 1} of ${field.name}`}
            value={row.name}
            options={undefined}
            disabled={disabled}
            onChange={(name) => set(rows.with(index, { ...row, name }))}
          />
          <One
            label={`Value ${row.name || index + 1} of ${field.name}`}
            value={row.text}
            options={options}
            disabled={disabled}
            onChange={(text) => set(rows.with(index, { ...row, text }))}
            onEnter={add}
          />
          {!disabled && field.secrets === "value" && (
            <button
              type="button"
              className="plain"
              title="Put a secret here"
              aria-expanded={picking === index}
              onClick={() => setPicking(picking === index ? -1 : index)}
            >
              <Icon name="lock" />
              <span className="hidden">Put a secret into {row.name || `row ${index + 1}`}</span>
            </button>
          )}
          {!disabled && <Remove what={row.name || `row ${index + 1}`} onClick={() => set(rows.toSpliced(index, 1))} />}
        </div>
      ))}
      {picking >= 0 && picking < rows.length && (
        <SecretPicker
          onPick={(handle) => {
            set(rows.map((row, index) => (index === picking ? { ...row, text: handle } : row)));
            setPicking(-1);
          }}
          onClose={() => setPicking(-1)}
        />
      )}
      {twice && <p className="problem-text">The key {twice.name} is there twice; the first one counts.</p>}
      {!rows.length && <p className="quiet small">{defaultOf(field) ? `${defaultOf(field)} (default)` : "None."}</p>}
      {!disabled && (
        <button type="button" className="plain add" onClick={add}>
          <Icon name="plus" /> Add
        </button>
      )}
    </fieldset>
  );
}
