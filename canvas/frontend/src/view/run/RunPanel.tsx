// Beside the canvas on the page of a run: what the chosen node did, or with nothing chosen the run itself.
import { type ReactElement, useEffect } from "react";
import { kindOf, labelOf } from "../../model/document";
import { textOr } from "../../model/json";
import { useRun } from "../../run";
import { choose, useEditor } from "../../store";
import { Icon } from "../icons";
import { RunDetails, Value } from "../RunDetails";
import { Gates } from "./Gates";

export function RunPanel(): ReactElement {
  const chosen = useEditor((state) => (state.nodes.size === 1 ? [...state.nodes][0] : undefined));
  const nodes = useEditor((state) => state.history.present.nodes);
  const node = nodes.find((one) => one.key === chosen);
  // What was not drawn is chosen in the timeline.
  const hasRun = useRun((run) => chosen !== undefined && run.items.has(chosen));
  const activity = useEditor((state) => (node ? state.activities.of(node)?.name : undefined));
  const isShown = node ? kindOf(node) === "activity" : hasRun;
  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) choose([]);
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, []);
  return (
    <aside className="panel" aria-label="What it did">
      {isShown && chosen ? (
        <>
          <header>
            <div className="grow">
              <h2 dir="auto">{node ? labelOf(node) : chosen}</h2>
              <p className="quiet small">
                <code>{chosen.slice(0, 128)}</code> {activity}
              </p>
            </div>
            <button type="button" className="plain" title="The whole run (Esc)" onClick={() => choose([])}>
              <Icon name="close" />
              <span className="hidden">The whole run</span>
            </button>
          </header>
          <div className="scroll">
            <RunDetails key={chosen} node={chosen} />
          </div>
        </>
      ) : (
        <WholeRun />
      )}
    </aside>
  );
}

function WholeRun(): ReactElement {
  const facts = useRun((run) => run.facts);
  const errors = Array.isArray(facts.errors) ? facts.errors.map(String) : [];
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">{textOr(facts.name) || "The run"}</h2>
          <p className="quiet small">Choose a node, or a bar of the timeline, for what it did.</p>
        </div>
      </header>
      <div className="scroll">
        <div className="form">
          <Gates />
          {errors.map((error, index) => (
            <p key={`${index} ${error}`} className="problem-text" dir="auto">
              {error}
            </p>
          ))}
          <section className="attempt">
            <Value name="Inputs" value={facts.inputs} />
            {textOr(facts.completedAt) && <Value name="Outputs" value={facts.outputs} />}
          </section>
        </div>
      </div>
    </>
  );
}
