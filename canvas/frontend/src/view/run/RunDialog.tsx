// With which inputs a run starts: a form of what the workflow declares or reads, checked before it is sent.
import { type ReactElement, useId, useMemo, useRef, useState } from "react";
import { save } from "../../behaviours/saving";
import { watch } from "../../behaviours/watching";
import { given, type Input, inputsOf, typed } from "../../model/inputs";
import { type JsonObject, objectOr, textOr } from "../../model/json";
import { Refused, request } from "../../server/requests";
import { canvasNow, editor, isDirty, useEditor } from "../../store";
import { Modal } from "../dialogs";
import { Icon } from "../icons";

export default function RunDialog({ onClose }: { onClose: () => void }): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const problems = useEditor((state) => state.problems);
  const key = useRef({ of: "", value: "" });
  const inputs = useMemo(() => {
    const missing = editor
      .getState()
      .problems.filter((problem) => problem.code === "missing-parameter")
      .map((problem) => problem.parameter);
    return inputsOf(canvasNow(), missing.filter(Boolean));
  }, []);
  const [texts, setTexts] = useState<Record<string, string>>(() => {
    const last = remembered(workflow);
    return Object.fromEntries(inputs.map((input) => [input.name, typed(input, last[input.name])]));
  });
  const [faults, setFaults] = useState<Record<string, string>>({});
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const names = new Set(inputs.map((input) => input.name));
  const errors = problems.filter(
    (problem) => problem.severity === "error" && !(problem.parameter && names.has(problem.parameter)),
  );

  async function start(form: HTMLFormElement): Promise<void> {
    const { values, faults: wrong } = given(inputs, texts);
    setFaults(wrong);
    const first = inputs.find((input) => wrong[input.name]);
    if (first) {
      form.querySelector<HTMLElement>(`[name="${CSS.escape(first.name)}"]`)?.focus();
      return;
    }
    setBusy(true);
    setFault("");
    try {
      if (isDirty(editor.getState()) && !(await save())) {
        const { saving } = editor.getState();
        if (saving.state === "conflict") return onClose();
        throw new Error(
          saving.state === "failed"
            ? `It could not be saved first: ${saving.message}`
            : "The canvas was changed meanwhile; start again.",
        );
      }
      keep(workflow, inputs, values);
      // Asked for once more after an answer that was lost, it is the same run; with other inputs another one.
      const of = JSON.stringify([editor.getState().saved.version, values]);
      if (key.current.of !== of) key.current = { of, value: newKey() };
      const headers = { "Idempotency-Key": key.current.value };
      const execution = await request("POST", `/workflows/${workflow}/execute`, { body: { inputs: values }, headers });
      const id = textOr(execution.id);
      history.replaceState(null, "", `?run=${id}`);
      watch(id);
      onClose();
    } catch (error) {
      setFault(reasons(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Modal label="Run" onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void start(event.currentTarget);
        }}
      >
        <h2>Run</h2>
        {errors.length > 0 && (
          <p className="banner tone-wait">
            <Icon name="warning" />
            <span>
              {errors.length === 1 ? "There is an error" : `There are ${errors.length} errors`}; a run is refused until
              that is mended.
            </span>
          </p>
        )}
        {inputs.map((input) => (
          <InputRow
            key={input.name}
            input={input}
            text={texts[input.name] ?? ""}
            fault={faults[input.name] ?? ""}
            onChange={(text) => {
              setTexts({ ...texts, [input.name]: text });
              setFaults({ ...faults, [input.name]: "" });
            }}
          />
        ))}
        {!inputs.length && <p>This workflow reads no inputs.</p>}
        {inputs.some((input) => input.type === "any") && (
          <p className="small quiet">Where no type is declared, JSON is taken as such and anything else as text.</p>
        )}
        {fault && (
          <p className="problem-text" role="alert">
            {fault}
          </p>
        )}
        <div className="row end">
          <button type="button" className="button" onClick={onClose}>
            Go back
          </button>
          <button type="submit" className="button primary" disabled={isBusy}>
            <Icon name="start" />
            {isDirty(editor.getState()) ? "Save and run" : "Run"}
          </button>
        </div>
      </form>
    </Modal>
  );
}

function InputRow({
  input,
  text,
  fault,
  onChange,
}: {
  input: Input;
  text: string;
  fault: string;
  onChange: (text: string) => void;
}): ReactElement {
  const id = useId();
  const shared = {
    id,
    name: input.name,
    "aria-describedby": fault ? `${id}-fault` : undefined,
    "aria-invalid": fault ? true : undefined,
    "aria-required": input.isRequired,
  };
  const hint = input.default === undefined ? "" : `${typed(input, input.default)} (default)`;
  return (
    <div className={`field${fault ? " wrong" : ""}`}>
      <div className="field-head">
        <label htmlFor={id}>
          {input.name}
          {input.isRequired && (
            <span className="required" aria-hidden="true">
              *
            </span>
          )}
        </label>
        <span className="quiet type">{input.type === "any" ? "" : input.type}</span>
      </div>
      {input.type === "boolean" ? (
        <select {...shared} value={text} onChange={(event) => onChange(event.target.value)}>
          <option value="">{hint}</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : input.type === "number" || input.isSecret ? (
        <input
          {...shared}
          type={input.isSecret ? "password" : "text"}
          inputMode={input.type === "number" ? "decimal" : "text"}
          autoComplete="off"
          value={text}
          placeholder={hint}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <textarea
          {...shared}
          rows={input.type === "object" || input.type === "array" ? 4 : 1}
          className={input.type === "object" || input.type === "array" ? "mono" : ""}
          dir="auto"
          spellCheck={false}
          value={text}
          placeholder={hint}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {fault && (
        <p id={`${id}-fault`} className="problem-text">
          {fault}
        </p>
      )}
    </div>
  );
}

function remembered(workflow: string): JsonObject {
  try {
    return objectOr(JSON.parse(localStorage.getItem(`poimen inputs ${workflow}`) ?? "{}"));
  } catch {
    return {};
  }
}

function keep(workflow: string, inputs: Input[], values: JsonObject): void {
  const open = inputs.filter((input) => !input.isSecret && input.name in values);
  try {
    const kept = Object.fromEntries(open.map((input) => [input.name, values[input.name] ?? null]));
    localStorage.setItem(`poimen inputs ${workflow}`, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing: the next time they are asked for anew.
  }
}

function newKey(): string {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`; // plain HTTP from elsewhere has no randomUUID
}

function reasons(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const list = error instanceof Refused ? (error.answer.errors ?? error.answer.details) : null;
  const first = Array.isArray(list) ? textOr(objectOr(list[0]).message) : "";
  return first ? `${error.message} ${first}` : error.message;
}
