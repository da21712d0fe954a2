// How long a step may take, how often it is tried, and where the run goes when it fails all the same.
import { type ReactElement, useState } from "react";
import { setNodeKey } from "../../model/changes";
import { type CanvasNode, configOf, dataOf, stateTypeOf } from "../../model/document";
import { A_DAY, durationFault } from "../../model/durations";
import { isObject, type Json, textOr } from "../../model/json";
import { detailsOf, faultOf, numberOr, PRESETS, spokenSeconds, waits, withDetail } from "../../model/retries";
import { change, useEditor } from "../../store";
import { TextRow } from "../TextRow";
import { Catches } from "./Catches";
import { ErrorNames } from "./ErrorNames";

export function Limits({ node, disabled }: { node: CanvasNode; disabled: boolean }): ReactElement {
  const activity = useEditor((state) => state.activities).of(node);
  const data = dataOf(node);
  const key = node.key;
  const config = configOf(node);
  const isTask = !stateTypeOf(node);
  const timeout = textOr(data.timeout);
  const isOdd = data.timeout !== undefined && typeof data.timeout !== "string";
  const hidden = ["_timeout", "_retry"].filter((name) => config[name] !== undefined);
  return (
    <section>
      <h3>When it takes long or fails</h3>
      {hidden.length > 0 && (
        <p className="about">
          <code>{hidden.join(", ")}</code> in the configuration {hidden.length > 1 ? "win" : "wins"} over what stands
          here.
        </p>
      )}
      {isTask && (
        <TextRow
          label="Timeout"
          value={isOdd ? JSON.stringify(data.timeout) : timeout}
          placeholder={activity ? `${activity.timeout} (default)` : ""}
          disabled={disabled}
          fault={isOdd ? "Expected a duration such as 30s." : durationFault(timeout, A_DAY)}
          about="Of one attempt, such as 90s, 5m or 1h30m."
          onChange={(text) =>
            change((canvas) => setNodeKey(canvas, key, "timeout", text || undefined), `${key} timeout`)
          }
        />
      )}
      {isTask && <Retries node={node} disabled={disabled} />}
      <Catches node={node} disabled={disabled} />
    </section>
  );
}

const ROWS = [
  ["initialInterval", "First wait", PRESETS.initialInterval, "Before the second attempt."],
  ["backoffCoefficient", "Times longer each time", "", "1 keeps the wait as it is."],
  ["maxInterval", "Longest wait", PRESETS.maxInterval, ""],
  ["jitter", "Random share", PRESETS.jitter, "0 to 1 of each wait, so that not all try again at once."],
] as const;

function Retries({ node, disabled }: { node: CanvasNode; disabled: boolean }): ReactElement {
  const activity = useEditor((state) => state.activities).of(node);
  const key = node.key;
  const retry = dataOf(node).retry ?? undefined;
  const details = detailsOf(retry);
  const [isOpen, setOpen] = useState(isObject(retry));
  const defaults = { attempts: activity?.retries ?? 1, backoff: activity?.backoff ?? 2 };
  const between = waits(retry, defaults);
  const set = (name: string, value: Json | undefined) =>
    change((canvas) => {
      const before = canvas.nodes.find((one) => one.key === key);
      const next = before ? withDetail(dataOf(before).retry, name, value) : undefined;
      return setNodeKey(canvas, key, "retry", next);
    }, `${key} retry ${name}`);
  const spoken = (value: Json | undefined) =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const names = Array.isArray(details.nonRetryableErrors) ? details.nonRetryableErrors.map(String) : [];
  return (
    <>
      <TextRow
        label="Attempts"
        value={spoken(details.maxAttempts)}
        placeholder={`${defaults.attempts} (default)`}
        disabled={disabled}
        fault={faultOf("maxAttempts", details.maxAttempts)}
        about={
          between.length
            ? `Waits ${between.map(spokenSeconds).join(", ")} in between.`
            : "How often it is tried at most."
        }
        onChange={(text) => set("maxAttempts", numberOr(text))}
      />
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)} className="more">
        <summary>Retries in detail</summary>
        <div className="more-body">
          {ROWS.map(([name, label, preset, about]) => (
            <TextRow
              key={name}
              label={label}
              value={spoken(details[name])}
              placeholder={`${preset || defaults.backoff} (default)`}
              disabled={disabled}
              fault={faultOf(name, details[name])}
              about={about}
              onChange={(text) => set(name, name.endsWith("Interval") ? text || undefined : numberOr(text))}
            />
          ))}
          <div className="field">
            <span className="label">Not tried again after</span>
            <ErrorNames
              names={names}
              mayBeAny={false}
              disabled={disabled}
              onChange={(next) => set("nonRetryableErrors", next.length ? next : undefined)}
            />
          </div>
        </div>
      </details>
    </>
  );
}
