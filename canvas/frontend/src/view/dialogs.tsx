// Questions that stand before everything else: of two versions which one, and with which inputs a run starts.
import { type ReactElement, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { keepMine, save, takeTheirs } from "../behaviours/saving";
import { watch } from "../behaviours/watching";
import { declaredInputs, inputNames } from "../model/activities";
import { differences } from "../model/differences";
import { type Json, type JsonObject, textOr } from "../model/json";
import { Refused, request } from "../server/requests";
import { canvasNow, editor, isDirty, type Saving, useEditor } from "../store";
import { Icon } from "./icons";

function Modal({
  label,
  onClose,
  children,
}: {
  label: string;
  onClose: () => void;
  children: ReactNode;
}): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="wide-dialog" aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}

export function Conflict({
  saving,
  onLater,
}: {
  saving: Saving & { state: "conflict" };
  onLater: () => void;
}): ReactElement {
  const mine = useEditor((state) => state.history.present);
  const { theirs } = saving;
  const list = useMemo(() => differences(theirs.canvas, mine), [theirs, mine]);
  return (
    <Modal label="Two versions" onClose={onLater}>
      <h2>Somebody else saved version {theirs.version}</h2>
      <p>Nothing of yours is lost or written. From their version to yours:</p>
      <ul className="differences">
        {list.slice(0, 100).map((one) => (
          <li key={`${one.what} ${one.how} ${one.name}`}>
            <span className={`status tone-${one.how === "added" ? "good" : one.how === "removed" ? "bad" : "busy"}`}>
              {one.how}
            </span>{" "}
            <span>
              {one.what} <strong dir="auto">{one.name}</strong>{" "}
              {one.fields.length > 0 && <span className="quiet mono small">{one.fields.slice(0, 6).join(", ")}</span>}
            </span>
          </li>
        ))}
        {list.length > 100 && <li className="quiet">and {list.length - 100} more</li>}
        {!list.length && <li className="quiet">They are the same.</li>}
      </ul>
      <div className="row end">
        <button type="button" className="button" onClick={onLater}>
          Decide later
        </button>
        <button type="button" className="button" onClick={takeTheirs} title="Yours is one undo away">
          Take theirs
        </button>
        <button
          type="button"
          className="button primary"
          onClick={() => void keepMine()}
          title={`Version ${theirs.version} stays in the list of versions`}
        >
          Save mine over it
        </button>
      </div>
    </Modal>
  );
}

function remembered(workflow: string): JsonObject {
  try {
    return JSON.parse(localStorage.getItem(`poimen inputs ${workflow}`) ?? "{}") as JsonObject;
  } catch {
    return {};
  }
}

// Text that is JSON is meant as such; any other is a text.
function meant(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function spokenInput(value: Json | undefined): string {
  return value === undefined
    ? ""
    : typeof value === "string"
      ? typeof meant(value) === "string"
        ? value
        : JSON.stringify(value)
      : JSON.stringify(value);
}

export function RunDialog({ onClose }: { onClose: () => void }): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const problems = useEditor((state) => state.problems);
  const key = useRef(newKey());
  const { names, defaults } = useMemo(() => {
    const canvas = canvasNow();
    const missing = editor
      .getState()
      .problems.filter((problem) => problem.code === "missing-parameter")
      .map((problem) => problem.parameter);
    return {
      names: [...new Set([...inputNames(canvas), ...missing.filter(Boolean)])],
      defaults: declaredInputs(canvas),
    };
  }, []);
  const [given, setGiven] = useState<Record<string, string>>(() => {
    const last = remembered(workflow);
    return Object.fromEntries(names.map((name) => [name, spokenInput(last[name])]));
  });
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const errors = problems.filter(
    (problem) => problem.severity === "error" && !(problem.parameter && names.includes(problem.parameter)),
  );

  async function start(): Promise<void> {
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
      const inputs = Object.fromEntries(
        names.filter((name) => given[name]).map((name) => [name, meant(given[name] ?? "")]),
      );
      try {
        localStorage.setItem(`poimen inputs ${workflow}`, JSON.stringify(inputs));
      } catch {
        // A browser that keeps nothing: the next time they are asked for anew.
      }
      const suffix =
        JSON.stringify(inputs).length +
        JSON.stringify(inputs)
          .split("")
          .reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 0xffffffff, 7);
      const headers = { "Idempotency-Key": `${key.current}-${editor.getState().saved.version}-${suffix}` };
      const execution = await request("POST", `/workflows/${workflow}/execute`, { body: { inputs }, headers });
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
        onSubmit={(event) => {
          event.preventDefault();
          void start();
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
        {names.map((name) => (
          <label key={name} className="field">
            {name}
            <textarea
              rows={1}
              dir="auto"
              spellCheck={false}
              value={given[name] ?? ""}
              placeholder={defaults[name] === undefined ? "" : `${spokenInput(defaults[name])} (default)`}
              onChange={(event) => setGiven({ ...given, [name]: event.target.value })}
            />
          </label>
        ))}
        {names.length ? (
          <p className="small">JSON is taken as such, anything else as text.</p>
        ) : (
          <p>This workflow reads no inputs.</p>
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

function newKey(): string {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`; // plain HTTP from elsewhere has no randomUUID
}

function reasons(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const list = error instanceof Refused ? (error.answer.errors ?? error.answer.details) : null;
  const first = Array.isArray(list) ? textOr((list[0] as JsonObject | undefined)?.message) : "";
  return first ? `${error.message} ${first}` : error.message;
}
