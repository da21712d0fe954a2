// Everything that is wrong, in one list that leads to where it is.
import type { ReactElement } from "react";
import { choose, show, useEditor } from "../store";
import { Icon } from "./icons";

const MOST = 200;

export function Problems({ onClose }: { onClose: () => void }): ReactElement {
  const problems = useEditor((state) => state.problems);
  return (
    <section className="problem-list" aria-label="Problems">
      <header>
        <h2>Problems</h2>
        <button type="button" className="plain" onClick={onClose} title="Close (p)">
          <Icon name="close" />
          <span className="hidden">Close</span>
        </button>
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
          </li>
        ))}
        {problems.length > MOST && <li className="quiet">and {problems.length - MOST} more; mend these first.</li>}
        {!problems.length && <li className="quiet pad">Nothing is wrong with this canvas.</li>}
      </ul>
    </section>
  );
}
