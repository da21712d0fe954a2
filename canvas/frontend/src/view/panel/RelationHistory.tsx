// How the meaning of a connection changed: what, by whom, when. From the server, so of what was saved.
import type { ReactElement } from "react";
import { useAsked } from "../../behaviours/asking";
import type { CanvasEdge } from "../../model/document";
import { textOr } from "../../model/json";
import { turnsOf } from "../../model/relationHistory";
import { listOf } from "../../model/run";
import { request } from "../../server/requests";
import { useEditor } from "../../store";

export function RelationHistory({ edge }: { edge: CanvasEdge }): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const version = useEditor((state) => state.saved.version);
  const id = textOr(edge.raw.id) || edge.key;
  const path = `/workflows/${workflow}/relations/${encodeURIComponent(id)}/versions`;
  const asked = useAsked(() => request("GET", path), `${path} ${version}`);
  if (asked.state === "asking") return <p className="about form">Asking for its history…</p>;
  if (asked.state === "failed") return <p className="problem-text form">{asked.message}</p>;
  const turns = turnsOf(listOf(asked.value.versions));
  if (!turns.length) return <p className="about form">It was never saved yet.</p>;
  return (
    <ol className="form turns">
      {turns.map((turn) => (
        <li key={turn.version}>
          <p className="turn-head">
            <strong dir="auto">{turn.by || "somebody"}</strong>
            <time dateTime={turn.at}>{new Date(turn.at).toLocaleString()}</time>
            <span className="quiet">in version {turn.workflowVersion}</span>
          </p>
          {turn.reason && <p dir="auto">{turn.reason}</p>}
          <dl>
            {turn.changes.map((one) => (
              <div key={one.what}>
                <dt>{one.what}</dt>
                <dd dir="auto">
                  {one.before && <del>{one.before}</del>} {one.after ? <ins>{one.after}</ins> : <em>taken away</em>}
                </dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ol>
  );
}
