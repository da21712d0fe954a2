// Where the run goes when a step has failed for good: its edges that are taken on errors, as rules of the step.
import { type ReactElement, useMemo, useState } from "react";
import { remove } from "../../model/changes";
import { ends } from "../../model/connecting";
import { type Canvas, type CanvasNode, kindOf, labelOf, stateTypeOf } from "../../model/document";
import { connectOnError, errorsOf, retarget, setErrors } from "../../model/errors";
import { change, choose, useCanvasAtRest } from "../../store";
import { Icon } from "../icons";
import { ErrorNames } from "./ErrorNames";

export function Catches({ node, disabled }: { node: CanvasNode; disabled: boolean }): ReactElement | null {
  const canvas = useCanvasAtRest();
  const [isAdding, setAdding] = useState(false);
  const key = node.key;
  const free = useMemo(
    () => ends(canvas, key, true).map((one) => ({ key: one.key, label: labelOf(one) })),
    [canvas, key],
  );
  const rules = canvas.edges.filter((edge) => edge.source === key && errorsOf(edge).length > 0);
  if (["Wait", "Fail"].includes(stateTypeOf(node)) || kindOf(node) !== "activity") return null;
  return (
    <div className="catches">
      <span className="label">When it has failed</span>
      {rules.map((edge) => (
        <div key={edge.key} className="catch">
          <ErrorNames
            names={errorsOf(edge)}
            mayBeAny
            disabled={disabled}
            onChange={(names) => names.length && change((now) => setErrors(now, edge.key, names), `${edge.key} errors`)}
          />
          <div className="catch-to">
            <span className="quiet small">go to</span>
            <select
              aria-label="Go to"
              value={edge.target}
              disabled={disabled}
              onChange={(event) => change((now) => retarget(now, edge.key, event.target.value))}
            >
              {[named(canvas, edge.target), ...free].map((one) => (
                <option key={one.key} value={one.key}>
                  {one.label}
                </option>
              ))}
            </select>
            <button type="button" className="plain" title="Show the connection" onClick={() => choose([], [edge.key])}>
              <Icon name="link" />
              <span className="hidden">Show the connection</span>
            </button>
            {!disabled && (
              <button
                type="button"
                className="plain"
                title="Remove the rule"
                onClick={() => change((now) => remove(now, new Set(), new Set([edge.key])))}
              >
                <Icon name="close" />
                <span className="hidden">Remove the rule</span>
              </button>
            )}
          </div>
        </div>
      ))}
      {!rules.length && <p className="about">The run fails, or what the workflow says for errors happens.</p>}
      {!disabled && !isAdding && (
        <button type="button" className="plain add" disabled={!free.length} onClick={() => setAdding(true)}>
          <Icon name="plus" /> Go to another step instead
        </button>
      )}
      {isAdding && (
        <label className="field">
          Go to
          <select
            // biome-ignore lint/a11y/noAutofocus: it was asked for by the button that it takes the place of
            autoFocus
            value=""
            onBlur={() => setAdding(false)}
            onChange={(event) => {
              const target = event.target.value;
              setAdding(false);
              change((now) => connectOnError(now, key, target));
            }}
          >
            <option value="">choose a step</option>
            {free.map((one) => (
              <option key={one.key} value={one.key}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function named(canvas: Canvas, key: string): { key: string; label: string } {
  const node = canvas.nodes.find((one) => one.key === key);
  return { key, label: node ? labelOf(node) : key };
}
