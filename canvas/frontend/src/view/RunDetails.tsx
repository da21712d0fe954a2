// What a node did in the run that is watched: what it waits for, its items with a filter, and of one of them every
// attempt with input, output and error, and its child run.
import { type ReactElement, useEffect, useMemo, useState } from "react";
import { runAgain, whyNotFrom } from "../behaviours/steering";
import { type Json, type JsonObject, objectOr, textOr } from "../model/json";
import { filesIn, type Item, isOpen, isUnwell, listOf } from "../model/run";
import { isOver, rights, useRun } from "../run";
import { request, requestList } from "../server/requests";
import { Icon } from "./icons";
import { spoken, toneOf } from "./RunBadge";
import { Gates } from "./run/Gates";
import { ItemList } from "./run/ItemList";
import "./run/run.css";

const MOST = 20_000; // characters of a value
const NONE: Item[] = [];
const LINES = 50;

export function RunDetails({ node }: { node: string }): ReactElement {
  const execution = useRun((run) => run.execution);
  const fate = useRun((run) => run.nodes.get(node));
  const items = useRun((run) => run.items.get(node)) ?? NONE;
  const progress = useRun((run) => run.progress.get(node));
  const [chosen, setChosen] = useState("");
  const item = items.find((one) => one.key === chosen) ?? (items.length === 1 ? items[0] : undefined);
  return (
    <div className="form run-details">
      <Gates node={node} />
      {!items.length && (
        <p className="about">
          {fate?.status === "skipped"
            ? "It was skipped: no condition that leads here held."
            : fate
              ? "It did not run."
              : "It has not begun."}
        </p>
      )}
      {progress && fate && isOpen(fate.status) && (
        <p className="progress-line">
          <progress max={100} value={progress.percent} aria-label="Progress" /> {Math.round(progress.percent)} %
          {progress.message && <span dir="auto"> {progress.message}</span>}
        </p>
      )}
      {items.length > 1 && <ItemList items={items} chosen={chosen} onChoose={setChosen} />}
      {item && <Attempts key={item.key} execution={execution} node={node} item={item} />}
      <RunFrom node={node} items={items} />
      <Said node={node} />
    </div>
  );
}

function Attempts({ execution, node, item }: { execution: string; node: string; item: Item }): ReactElement {
  const [attempts, setAttempts] = useState<JsonObject[]>([]);
  const [fault, setFault] = useState("");
  const standing = useRun((run) =>
    run.standing.find((one) => one.state === node && `${one.branch} ${one.visit}` === item.key),
  );
  const ids = item.ids.slice(-20).join(" ");
  useEffect(() => {
    const control = new AbortController();
    // Each by its number: an item's attempts lie anywhere among those of the others.
    Promise.all(
      ids
        .split(" ")
        .filter(Boolean)
        .map((id) =>
          request("GET", `/executions/${execution}/states?after=${Number(id) - 1}&limit=1`, { signal: control.signal }),
        ),
    )
      .then((answers) => {
        setAttempts(answers.flatMap((answer) => listOf(answer.states)));
        setFault("");
      })
      .catch((error: Error) => control.signal.aborted || setFault(error.message));
    return () => control.abort();
  }, [execution, ids]);
  return (
    <>
      {fault && <p className="problem-text">{fault}</p>}
      {standing && (
        <section className="attempt">
          <Head status={standing.status} attempt={standing.attempt} milliseconds={item.milliseconds} />
          {waiting(standing.waitsFor, standing.signal, standing.wakeAt) && (
            <p className="about">{waiting(standing.waitsFor, standing.signal, standing.wakeAt)}</p>
          )}
          {standing.waitsFor === "execution" && <ChildRuns execution={execution} />}
        </section>
      )}
      {item.ids.length > 20 && <p className="about">The newest 20 of {item.ids.length} attempts.</p>}
      {[...attempts].reverse().map((attempt) => (
        <Attempt key={String(attempt.id)} attempt={attempt} />
      ))}
    </>
  );
}

function waiting(waitsFor: string, signal: string, wakeAt: string): string {
  const until = wakeAt ? ` until ${new Date(wakeAt).toLocaleTimeString()}` : "";
  if (waitsFor === "retry") return `It is tried again${wakeAt ? ` at ${new Date(wakeAt).toLocaleTimeString()}` : ""}.`;
  if (waitsFor === "timer") return `It waits${until}.`;
  if (waitsFor === "signal") return `It waits for the signal ${signal}${until}.`;
  if (waitsFor === "execution") return "It waits for its child run.";
  if (waitsFor === "children") return "It waits for its branches.";
  if (waitsFor === "cache") return "It waits for another run that makes the same result.";
  return "";
}

// The child runs that have not ended: one of them is what is waited for.
function ChildRuns({ execution }: { execution: string }): ReactElement | null {
  const [children, setChildren] = useState<JsonObject[]>([]);
  useEffect(() => {
    const control = new AbortController();
    requestList(`/executions?parentId=${execution}&limit=20`, { signal: control.signal })
      .then((list) => setChildren(list.filter((child) => !isOver(textOr(child.status)))))
      .catch(() => undefined); // the run's own page lists them too
    return () => control.abort();
  }, [execution]);
  if (!children.length) return null;
  return (
    <ul className="children">
      {children.map((child) => (
        <li key={String(child.id)}>
          <a href={`/ui/executions/${child.id}#canvas`}>{textOr(child.name)}</a>{" "}
          <span className="quiet">{textOr(child.status)}</span>
        </li>
      ))}
    </ul>
  );
}

function Head({
  status,
  attempt,
  milliseconds,
  isReused = false,
}: {
  status: string;
  attempt: number;
  milliseconds: number | null;
  isReused?: boolean;
}): ReactElement {
  const [tone, icon, word] = toneOf(status);
  return (
    <h3>
      <span className={`status tone-${tone}`}>
        <Icon name={icon} />
        {word}
      </span>{" "}
      attempt {attempt} <span className="quiet">{milliseconds === null ? "" : spoken(milliseconds)}</span>
      {isReused && <span className="quiet"> kept from the run before</span>}
    </h3>
  );
}

function Attempt({ attempt }: { attempt: JsonObject }): ReactElement {
  const error = objectOr(attempt.error);
  const child = attempt.type === "Workflow" ? textOr(objectOr(attempt.input).execution) : "";
  return (
    <section className="attempt">
      <Head
        status={textOr(attempt.status)}
        attempt={Number(attempt.attempt)}
        milliseconds={Number(attempt.durationMs)}
        isReused={attempt.reused === true}
      />
      {textOr(error.message) && (
        <p className="problem-text" dir="auto">
          {textOr(error.name)}: {textOr(error.message)}
        </p>
      )}
      {child && <a href={`/ui/executions/${child}#canvas`}>Its child run</a>}
      {filesIn(attempt.output).map(({ name, href }) => (
        <a key={href} href={href} download>
          Download {name}
        </a>
      ))}
      <Value name="Input" value={attempt.input} />
      <Value name="Output" value={attempt.output} />
      {objectOr(attempt.error).details !== undefined && <Value name="Error in detail" value={attempt.error} />}
    </section>
  );
}

export function Value({ name, value }: { name: string; value: Json | undefined }): ReactElement {
  const text = useMemo(() => JSON.stringify(value ?? null, null, 2), [value]);
  const href = textOr(objectOr(value).href);
  return (
    <details>
      <summary>{name}</summary>
      {href.startsWith("/executions/") && (
        <a href={href} download>
          Download it
        </a>
      )}
      <pre>
        {text.length > MOST
          ? `${text.slice(0, MOST)}\n… ${text.length - MOST} characters more; the whole run has them`
          : text}
      </pre>
    </details>
  );
}

// A new run from here, once this one is over.
function RunFrom({ node, items }: { node: string; items: Item[] }): ReactElement | null {
  const status = useRun((run) => run.status);
  const why = useRun((run) => whyNotFrom(run, node));
  const [isBusy, setBusy] = useState(false);
  if (!rights.mayOperate || !isOver(status) || (why && !items.length)) return null;
  if (why) return <p className="about">{why} Run again runs all of it; results that are kept are not made anew.</p>;
  return (
    <div>
      <button
        type="button"
        className="button"
        disabled={isBusy}
        title="A new run, which keeps the results before this step and those of the branches beside it"
        onClick={() => {
          setBusy(true);
          void runAgain(node).finally(() => setBusy(false));
        }}
      >
        <Icon name="again" />
        Run again from here
      </button>
      {isUnwell(items.at(-1)?.status ?? "") && <p className="about">What ran before it is kept.</p>}
    </div>
  );
}

function Said({ node }: { node: string }): ReactElement {
  const execution = useRun((run) => run.execution);
  const all = useRun((run) => run.lines);
  const lines = useMemo(() => all.filter((line) => line.node === node).slice(-LINES), [all, node]);
  return (
    <>
      <h3>Log</h3>
      {lines.length ? (
        <ol className="log-lines">
          {lines.map((line) => (
            <li key={line.cursor} data-level={line.level} dir="auto">
              <time>{line.timestamp.slice(11, 19)}</time> {line.message}
            </li>
          ))}
        </ol>
      ) : (
        <p className="about">It has said nothing.</p>
      )}
      <a href={`/ui/executions/${execution}`}>The whole run</a>
    </>
  );
}
