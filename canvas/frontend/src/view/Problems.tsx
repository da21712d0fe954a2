// Everything that is wrong, in one list that leads to where it is.
import { type ReactElement, useEffect, useState } from "react";
import { fixAll, fixable } from "../behaviours/fixing";
import { isTyping } from "../behaviours/keyboard";
import { choose, show, useEditor } from "../store";
import { FixButton } from "./FixButton";
import { Icon } from "./icons";

const MOST = 200;

export function Problems({ onClose }: { onClose: () => void }): ReactElement {
  const problems = useEditor((state) => state.problems);
  const mayEdit = useEditor((state) => state.mayEdit);
  const [isBusy, setBusy] = useState(false);
  const count = mayEdit ? fixable(problems).length : 0;
  useEffect(() => {
    function press({ key, target }: KeyboardEvent): void {
      if (key === "Escape" && !isTyping(target) && !document.querySelector("dialog[open]")) onClose();
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [onClose]);
  return (
    <section className="problem-list" aria-label="Problems">
      <header>
        <h2>Problems</h2>
        <div className="row">
          {count > 0 && (
            <button
              type="button"
              className="button small"
              disabled={isBusy}
              title="One after the other, as one step that undo takes back"
              onClick={() => {
                setBusy(true);
                void fixAll().finally(() => setBusy(false));
              }}
            >
              <Icon name="check" />
              {count === 1 ? "Mend the one that can be" : `Mend the ${count} that can be`}
            </button>
          )}
          <button type="button" className="plain" onClick={onClose} title="Close (p)">
            <Icon name="close" />
            <span className="hidden">Close</span>
          </button>
        </div>
      </header>
      <ul className="scroll">
        {problems.slice(0, MOST).map((problem, index) => (
          <li key={index}>
            <button
              type="button"
              onClick={() => {
                if (problem.node) show(problem.node);
                else if (problem.edge) choose([], [problem.edge]);
              }}
            >
              <span className={`status ${problem.severity === "error" ? "tone-bad" : "tone-wait"}`}>
                <Icon name={problem.severity === "error" ? "cross" : "warning"} />
                {problem.severity}
              </span>
              <span dir="auto">
                {problem.message}
                {problem.suggestion && <span className="quiet"> {problem.suggestion}.</span>}
              </span>
            </button>
            <FixButton problem={problem} />
          </li>
        ))}
        {problems.length > MOST && <li className="quiet">and {problems.length - MOST} more; mend these first.</li>}
        {!problems.length && <li className="quiet pad">Nothing is wrong with this canvas.</li>}
      </ul>
    </section>
  );
}
