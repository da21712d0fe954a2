// A value as JSON: typed in an editor that is loaded when first needed, taken over as soon as it is JSON.
import { lazy, type ReactElement, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { isEqual, type Json } from "../../model/json";
import { type Fault, LONGEST_SHOWN, preview, readText, spokenFault, textOf, weightOf } from "../../model/jsonText";

const JsonEditor = lazy(() => import("./JsonEditor"));
const LONG = 20_000; // characters from which on a text is read only after a pause
const PAUSE = 400;

interface Props {
  id: string;
  label: string;
  value: Json | undefined;
  disabled: boolean;
  describedBy: string;
  hint?: string;
  isTall?: boolean;
  isObject?: boolean; // nothing but an object is taken over
  onChange: (value: Json | undefined) => void;
}

export function JsonField(props: Props): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const { value } = props;
  if (isOpen || value === undefined || weightOf(value) <= LONGEST_SHOWN) return <Typed {...props} />;
  return (
    <div className="large-value">
      <pre id={props.id}>{preview(value)}…</pre>
      <p className="about">Only the beginning of this large value is shown.</p>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Open as JSON
      </button>
    </div>
  );
}

function Typed({
  id,
  label,
  value,
  disabled,
  describedBy,
  hint = "",
  isTall = false,
  isObject = false,
  onChange,
}: Props): ReactElement {
  const [text, setText] = useState(() => textOf(value));
  const [fault, setFault] = useState<Fault | null>(null);
  const [place, setPlace] = useState<number | null>(null);
  const own = useRef(value);
  const isHeld = useRef(false); // what stands here until the editor is loaded has the focus
  const pending = useRef<{ text: string; timer: number } | null>(null);
  // While rendering: a moment later the next key may have been typed, and what came of the last one would look foreign.
  useLayoutEffect(() => {
    if (isEqual(own.current, value)) return;
    own.current = value;
    setText(textOf(value));
    setFault(null);
  }, [value]);

  function take(typed: string): void {
    pending.current = null;
    const read = readText(typed);
    const isOther =
      isObject && !read.fault && (typeof read.value !== "object" || Array.isArray(read.value) || !read.value);
    setPlace(null);
    setFault(read.fault ?? (isOther ? { at: 0, message: "An object in { } is expected here" } : null));
    if (read.fault || isOther || isEqual(own.current, read.value)) return;
    own.current = read.value;
    onChange(read.value);
  }
  function type(typed: string): void {
    setText(typed);
    if (pending.current) clearTimeout(pending.current.timer);
    pending.current = null;
    if (typed.length < LONG) take(typed);
    else pending.current = { text: typed, timer: window.setTimeout(() => take(typed), PAUSE) };
  }
  function leave(): void {
    if (!pending.current) return;
    clearTimeout(pending.current.timer);
    take(pending.current.text);
  }
  const last = useRef(leave);
  useEffect(() => {
    last.current = leave;
  });
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = whole.current;
    const left = () => last.current();
    box?.addEventListener("focusout", left);
    return () => {
      box?.removeEventListener("focusout", left);
      left(); // a panel that closes loses nothing that was typed
    };
  }, []);

  const shownFault = fault && { ...fault, at: fault.at ?? place };
  return (
    <div ref={whole}>
      <Suspense
        fallback={
          <textarea
            id={id}
            className={`mono${isTall ? " tall" : ""}`}
            rows={Math.min(14, Math.max(2, text.split("\n", 16).length))}
            spellCheck={false}
            aria-label={label}
            aria-describedby={describedBy}
            value={text}
            disabled={disabled}
            placeholder={hint}
            onFocus={() => {
              isHeld.current = true;
            }}
            onBlur={() => {
              isHeld.current = false;
            }}
            onChange={(event) => type(event.target.value)}
          />
        }
      >
        <JsonEditor
          id={id}
          label={label}
          about="Tab indents; Escape, then Tab leaves the field."
          text={text}
          hint={hint}
          isTall={isTall}
          disabled={disabled}
          fault={fault}
          takesFocus={isHeld}
          onText={type}
          onPlace={setPlace}
        />
      </Suspense>
      {shownFault && (
        <p className="problem-text" role="status">
          {spokenFault(shownFault, text)} Not taken over yet.
        </p>
      )}
    </div>
  );
}
