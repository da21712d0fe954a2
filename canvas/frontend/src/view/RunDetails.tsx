// What a node did in the run that is watched: its attempts with input, output and error, and its lines.
import { type ReactElement, useEffect, useState } from "react";
import { type Json, type JsonObject, objectOr, textOr } from "../model/json";
import { listOf } from "../model/run";
import { useRun } from "../run";
import { request } from "../server/requests";
import { Icon } from "./icons";
import { spoken, TONES } from "./RunBadge";

const MOST = 20_000; // characters of a value

export function RunDetails({ node }: { node: string }): ReactElement {
  const execution = useRun((run) => run.execution);
  const fate = useRun((run) => run.nodes.get(node));
  const lines = useRun((run) => run.lines).filter((line) => line.node === node);
  const [attempts, setAttempts] = useState<JsonObject[]>([]);
  const [fault, setFault] = useState("");
  const mark = fate && `${fate.status} ${fate.attempt} ${fate.count}`;
  useEffect(() => {
    const control = new AbortController();
    request("GET", `/executions/${execution}/states?state=${encodeURIComponent(node)}&limit=50`, {
      signal: control.signal,
    })
      .then((answer) => {
        setAttempts(listOf(answer.states));
        setFault("");
      })
      .catch((error: Error) => control.signal.aborted || setFault(error.message));
    return () => control.abort();
  }, [execution, node, mark]);
  return (
    <div className="form">
      {fault && <p className="problem-text">{fault}</p>}
      {!attempts.length && !fault && (
        <p className="about">{fate && fate.status !== "not run" ? "It has not ended yet." : "It did not run."}</p>
      )}
      {attempts.map((attempt) => (
        <Attempt key={String(attempt.id)} attempt={attempt} />
      ))}
      <h3>Log</h3>
      {lines.length ? (
        <ol className="log-lines">
          {lines.slice(-200).map((line) => (
            <li key={line.cursor} data-level={line.level}>
              <time>{line.timestamp.slice(11, 19)}</time> {line.message}
            </li>
          ))}
        </ol>
      ) : (
        <p className="about">It has said nothing.</p>
      )}
      <a href={`/ui/executions/${execution}`}>The whole run</a>
    </div>
  );
}

function Attempt({ attempt }: { attempt: JsonObject }): ReactElement {
  const status = textOr(attempt.status);
  const [tone, icon, word] = TONES[status] ?? ["idle", "unknown", status];
  const error = objectOr(attempt.error);
  return (
    <section className="attempt">
      <h3>
        <span className={`status tone-${tone}`}>
          <Icon name={icon} />
          {word}
        </span>{" "}
        attempt {String(attempt.attempt)} <span className="quiet">{spoken(Number(attempt.durationMs))}</span>
      </h3>
      {textOr(error.message) && (
        <p className="problem-text">
          {textOr(error.name)}: {textOr(error.message)}
        </p>
      )}
      <Value name="Input" value={attempt.input} />
      <Value name="Output" value={attempt.output} />
    </section>
  );
}

function Value({ name, value }: { name: string; value: Json | undefined }): ReactElement {
  const text = JSON.stringify(value ?? null, null, 2);
  return (
    <details>
      <summary>{name}</summary>
      <pre>
        {text.length > MOST
          ? `${text.slice(0, MOST)}\n… ${text.length - MOST} characters more; the whole run has them`
          : text}
      </pre>
    </details>
  );
}
