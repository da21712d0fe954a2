// What the start node says of the whole run: its limit of time, and what an error that nothing takes does to it.
import type { ReactElement } from "react";
import { setNodeKey } from "../../model/changes";
import { type CanvasNode, dataOf } from "../../model/document";
import { durationFault } from "../../model/durations";
import { textOr } from "../../model/json";
import { change } from "../../store";
import { TextRow } from "../TextRow";

const MODES = [
  ["retry", "retry: steps are tried again, then the run fails"],
  ["fail-fast", "fail-fast: the first failure ends the run"],
  ["continue", "continue: a failure is kept, and the run goes on"],
];

export function WorkflowLimits({ start, disabled }: { start: CanvasNode; disabled: boolean }): ReactElement {
  const data = dataOf(start);
  const mode = textOr(data.errorHandling);
  const timeout = textOr(data.timeout);
  const set = (name: string, text: string) =>
    change((canvas) => setNodeKey(canvas, start.key, name, text || undefined), `${start.key} ${name}`);
  return (
    <section>
      <h3>The whole run</h3>
      <TextRow
        label="Time limit"
        value={timeout}
        placeholder="none"
        disabled={disabled}
        fault={durationFault(timeout)}
        about="After which the run is ended, such as 2h."
        onChange={(text) => set("timeout", text)}
      />
      <label className="field">
        When a step fails
        <select value={mode} disabled={disabled} onChange={(event) => set("errorHandling", event.target.value)}>
          <option value="">retry (default)</option>
          {MODES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
          {mode && !MODES.some(([value]) => value === mode) && <option value={mode}>{mode} (not known)</option>}
        </select>
        <span className="about">Connections that a step has for its errors come first.</span>
      </label>
    </section>
  );
}
