// A sentence becomes a drawing: what was understood, what has to be known first, how it would look; then onto the canvas.
import { type FormEvent, type ReactElement, useEffect, useId, useRef, useState } from "react";
import { putBeside, putInstead, readUnderstood, type Understood } from "../../model/described";
import type { Canvas } from "../../model/document";
import { Refused, request } from "../../server/requests";
import { canvasNow, change, choose, closeGroup, editor, say, useEditor } from "../../store";
import { Modal } from "../dialogs";
import { Icon } from "../icons";
import { Preview } from "./Preview";
import "./describe.css";

const LONGEST = 4000;

export default function Describe({
  first,
  onClose,
  onPut,
}: {
  first: string;
  onClose: () => void;
  onPut: () => void;
}): ReactElement {
  const isEmpty = useEditor((state) => state.history.present.nodes.length === 0);
  const [message, setMessage] = useState(first);
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const [understood, setUnderstood] = useState<Understood | null>(null);
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const asked = useRef<AbortController | null>(null);
  const [isFirst] = useState(() => first.trim() !== "");

  async function ask(context: Record<string, string>): Promise<void> {
    if (!message.trim()) return setFault("Say what should happen.");
    asked.current?.abort();
    const control = new AbortController();
    asked.current = control;
    setBusy(true);
    setFault("");
    try {
      const body = { message, dryRun: true, ...(Object.keys(context).length ? { context } : {}) };
      const answer = await request("POST", "/route", { body, signal: control.signal });
      if (!control.signal.aborted) setUnderstood(readUnderstood(answer));
    } catch (error) {
      if (control.signal.aborted) return;
      setFault(error instanceof Refused || error instanceof Error ? error.message : String(error));
    } finally {
      if (!control.signal.aborted) setBusy(false);
    }
  }
  // Asked once, for the sentence that it was opened with.
  useEffect(() => {
    if (isFirst) void ask({});
    return () => asked.current?.abort();
  }, []);

  function submit(event: FormEvent): void {
    event.preventDefault();
    setAnswers({});
    void ask({});
  }

  function put(drawing: Canvas, how: (canvas: Canvas, drawing: Canvas) => Canvas): void {
    closeGroup();
    const known = new Set(canvasNow().nodes.map((node) => node.key));
    change((canvas) => how(canvas, drawing));
    closeGroup();
    choose(
      how === putBeside
        ? canvasNow()
            .nodes.filter((node) => !known.has(node.key))
            .map((node) => node.key)
        : [],
    );
    say("It is on the canvas, and nothing runs. Undo takes it back.");
    onPut();
  }

  const { drawing = null, schedule = null } = understood ?? {};
  return (
    <Modal label="Describe it" onClose={onClose}>
      <div className="describe">
        <header>
          <h2>Describe it in a sentence</h2>
          <button type="button" className="plain" onClick={onClose} title="Close (Esc)">
            <Icon name="close" />
            <span className="hidden">Close</span>
          </button>
        </header>
        <form className="ask" onSubmit={submit}>
          <label>
            <span className="hidden">What should happen</span>
            <textarea
              rows={2}
              dir="auto"
              // biome-ignore lint/a11y/noAutofocus: the dialog is for this field
              autoFocus
              maxLength={LONGEST}
              value={message}
              placeholder="Clone https://… every night, scan it, and tell slack if the risk is high"
              onChange={(event) => setMessage(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.shiftKey) return;
                event.preventDefault();
                event.currentTarget.form?.requestSubmit();
              }}
            />
          </label>
          <button type="submit" className={`button${understood ? "" : " primary"}`} disabled={isBusy}>
            <Icon name={isBusy ? "running" : "llm"} />
            {isBusy ? "Reading…" : understood ? "Read it again" : "Show me"}
          </button>
        </form>
        {fault && (
          <p className="problem-text" role="alert">
            {fault}
          </p>
        )}
        <div role="status" aria-live="polite" className="understood">
          {understood && (
            <>
              {understood.questions.length > 0 && (
                <Questions
                  understood={understood}
                  isBusy={isBusy}
                  onAnswer={(given) => {
                    const all = { ...answers, ...given };
                    setAnswers(all);
                    void ask(all);
                  }}
                />
              )}
              {understood.warnings.map((text) => (
                <p key={text} className="banner tone-wait">
                  <Icon name="warning" />
                  <span dir="auto">{text}</span>
                </p>
              ))}
              {drawing && <Preview canvas={drawing} />}
              {schedule && (
                <p className="banner tone-busy">
                  <Icon name="wait" />
                  <span>
                    It is to run again and again: <code>{schedule.cron}</code> ({schedule.zone}). A canvas does not say
                    when; put it there, save it, and{" "}
                    <a href={scheduleForm(schedule)} target="_blank" rel="noreferrer">
                      make a schedule
                    </a>
                    .
                  </span>
                </p>
              )}
              <section aria-label="What was understood">
                <h3>
                  {drawing ? "Why it looks like this" : "Understood so far"}{" "}
                  <span className="quiet small" title={understood.reason}>
                    {understood.source === "llm" ? "a model’s choice, checked" : "read from the words alone"}
                  </span>
                </h3>
                <dl className="why">
                  {understood.explanation.map((note) => (
                    <div key={`${note.subject} ${note.text}`}>
                      <dt dir="auto">{note.subject}</dt>
                      <dd dir="auto">{note.text}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            </>
          )}
        </div>
        {drawing && (
          <div className="row end">
            {!isEmpty && (
              <button type="button" className="button" onClick={() => put(drawing, putBeside)}>
                Add it beside
              </button>
            )}
            <button
              type="button"
              className="button primary"
              onClick={() => put(drawing, putInstead)}
              title={isEmpty ? "" : "What is drawn makes room; undo brings it back"}
            >
              <Icon name="check" />
              {isEmpty ? "Put it on the canvas" : "Replace what is drawn"}
            </button>
          </div>
        )}
      </div>
    </Modal>
  );
}

function scheduleForm({ cron, zone }: { cron: string; zone: string }): string {
  const { workflow } = editor.getState();
  return `/ui/schedules/new?${new URLSearchParams({ workflow, schedule: cron, timezone: zone })}`;
}

function Questions({
  understood,
  isBusy,
  onAnswer,
}: {
  understood: Understood;
  isBusy: boolean;
  onAnswer: (given: Record<string, string>) => void;
}): ReactElement {
  const [given, setGiven] = useState<Record<string, string>>({});
  const id = useId();
  return (
    <form
      className="questions"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(Object.fromEntries(Object.entries(given).filter(([, text]) => text.trim())));
      }}
    >
      <h3>Before it can be drawn</h3>
      {understood.questions.map((question, index) => (
        <label key={`${question.parameter} ${question.text}`} className="field">
          <span dir="auto">{question.text}</span>
          <input
            autoComplete="off"
            dir="auto"
            value={given[question.parameter] ?? ""}
            list={question.options.length ? `${id}-${index}` : undefined}
            placeholder={question.options.join(", or ")}
            onChange={(event) => setGiven({ ...given, [question.parameter]: event.target.value })}
          />
          {question.options.length > 0 && (
            <datalist id={`${id}-${index}`}>
              {question.options.map((option) => (
                <option key={option} value={option} />
              ))}
            </datalist>
          )}
        </label>
      ))}
      <button type="submit" className="button primary" disabled={isBusy}>
        Go on
      </button>
    </form>
  );
}
