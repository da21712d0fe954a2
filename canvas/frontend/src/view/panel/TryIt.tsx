// A condition or an expression tried on sample data, evaluated by the server as a run would.
import { type ReactElement, useEffect, useMemo, useState } from "react";
import { useAsked } from "../../behaviours/asking";
import { isObject, type Json, type JsonObject, objectOr, textOr } from "../../model/json";
import { preview, weightOf } from "../../model/jsonText";
import { labelsOf, sampleData } from "../../model/mapping";
import { certainBefore } from "../../model/order";
import { type LastRun, lastRun } from "../../server/lastRun";
import { Refused, request } from "../../server/requests";
import { canvasNow, useEditor } from "../../store";
import { JsonField } from "./JsonField";

const PAUSE = 400; // ms
const LARGEST = 200_000; // characters of outputs that are taken as a sample

type Outcome = { state: "none" } | { state: "there"; value: Json; holds: boolean } | Failure;
type Failure = { state: "failed"; message: string; position: number | null };

// `source`: the node that a condition leaves; `reads`: the nodes that may be read beside it. Empty: an expression.
export function TryIt({ text, source, reads }: { text: string; source: string; reads: string[] }): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const asked = useAsked(() => lastRun(workflow), workflow);
  if (asked.state === "asking") return <p className="quiet small">Looking at the last run…</p>;
  const run = asked.state === "there" ? asked.value : null;
  return <Box text={text} source={source} reads={reads} run={run} />;
}

function Box({ text, source, reads, run }: { text: string; source: string; reads: string[]; run: LastRun | null }) {
  const activities = useEditor((state) => state.activities);
  const first = useMemo(() => sampleOfRun(run, reads, activities), [run, reads, activities]);
  const [data, setData] = useState<JsonObject>(first);
  const [outcome, setOutcome] = useState<Outcome>({ state: "none" });
  useEffect(() => {
    if (!text.trim()) return setOutcome({ state: "none" });
    const control = new AbortController();
    const timer = setTimeout(() => {
      const body = { expression: text, data, source, labels: labelsOf(canvasNow()) };
      request("POST", "/expressions/evaluate", { body, signal: control.signal })
        .then((answer) => setOutcome({ state: "there", value: answer.value ?? null, holds: answer.holds === true }))
        .catch((error: unknown) => control.signal.aborted || setOutcome(failureOf(error)));
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, data, source]);
  return (
    <div className="try-it">
      <p className="label">Sample data</p>
      <JsonField
        id="try-data"
        label="Sample data"
        value={data}
        disabled={false}
        describedBy="try-about"
        isObject
        onChange={(value) => isObject(value) && setData(value)}
      />
      <p id="try-about" className="about">
        {run?.id ? "From the last run, where it gave something. " : "No run yet: made up from the types. "}
        Change it as you like; nothing of it is kept.
      </p>
      <div role="status" className="outcome">
        <Result outcome={outcome} text={text} isCondition={source !== ""} />
      </div>
    </div>
  );
}

function Result({
  outcome,
  text,
  isCondition,
}: {
  outcome: Outcome;
  text: string;
  isCondition: boolean;
}): ReactElement {
  if (outcome.state === "none") return <span className="quiet small">Write something to try.</span>;
  if (outcome.state === "failed") {
    const at = outcome.position;
    return (
      <>
        <strong className="problem-text">{outcome.message}</strong>
        {at !== null && (
          <code className="place" dir="ltr">
            {text.slice(Math.max(0, at - 30), at)}
            <mark>{text.slice(at, at + 1) || "␣"}</mark>
            {text.slice(at + 1, at + 20)}
          </code>
        )}
      </>
    );
  }
  return (
    <>
      {isCondition && (
        <span className={`status tone-${outcome.holds ? "good" : "idle"}`}>
          {outcome.holds ? "taken" : "not taken"}
        </span>
      )}
      <pre dir="auto">{typeof outcome.value === "string" ? outcome.value.slice(0, 2_000) : preview(outcome.value)}</pre>
    </>
  );
}

function sampleOfRun(run: LastRun | null, reads: string[], activities: Parameters<typeof sampleData>[1]): JsonObject {
  const kept = new Map<string, Json>();
  let left = LARGEST;
  for (const key of reads) {
    const output = run?.outputs.get(key);
    if (output === undefined) continue;
    left -= weightOf(output);
    if (left > 0) kept.set(key, output);
  }
  return sampleData(canvasNow(), activities, reads, kept, run?.inputs ?? {});
}

// The source of an edge and what is certain to have run before it.
export function readsAt(source: string): string[] {
  return [source, ...certainBefore(canvasNow(), source)].slice(0, 20);
}

function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const details = error instanceof Refused ? objectOr(error.answer.details) : {};
  const position = typeof details.position === "number" ? details.position : null;
  const said = textOr(details.message) || message;
  return { state: "failed", message: `${said.charAt(0).toUpperCase()}${said.slice(1)}`, position };
}
