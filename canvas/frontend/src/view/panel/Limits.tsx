// Timeout and retries of a node; left out, the activity's own count.
import type { ReactElement } from "react";
import { setNodeKey } from "../../model/changes";
import { type CanvasNode, dataOf } from "../../model/document";
import { isObject, textOr } from "../../model/json";
import { change, useEditor } from "../../store";
import { TextRow } from "../TextRow";

export function Limits({ node, disabled }: { node: CanvasNode; disabled: boolean }): ReactElement {
  const activity = useEditor((state) => state.activities).of(node);
  const data = dataOf(node);
  const key = node.key;
  const retry = data.retry;
  return (
    <section>
      <h3>When it takes long or fails</h3>
      <TextRow
        label="Timeout"
        value={textOr(data.timeout)}
        placeholder={activity ? `${activity.timeout} (default)` : ""}
        disabled={disabled}
        about="Such as 90s, 5m or 1h30m."
        onChange={(text) => change((canvas) => setNodeKey(canvas, key, "timeout", text || undefined), `${key} timeout`)}
      />
      {isObject(retry) ? (
        <p className="about">Retries are set in detail; see JSON.</p>
      ) : (
        <TextRow
          label="Attempts"
          value={retry === undefined || retry === null ? "" : String(retry)}
          placeholder={activity ? `${activity.retries} (default)` : ""}
          disabled={disabled}
          about="How often it is tried at most."
          onChange={(text) =>
            change(
              (canvas) =>
                setNodeKey(
                  canvas,
                  key,
                  "retry",
                  text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text,
                ),
              `${key} retry`,
            )
          }
        />
      )}
    </section>
  );
}
