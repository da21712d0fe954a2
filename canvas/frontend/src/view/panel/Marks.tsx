// What the server found wrong with the chosen element, above its form.
import type { ReactElement } from "react";
import type { Problem } from "../../model/problems";
import { FixButton } from "../FixButton";
import { Icon } from "../icons";

export function Marks({ list }: { list: Problem[] }): ReactElement | null {
  if (!list.length) return null;
  return (
    <ul className="marks">
      {list.slice(0, 20).map((problem, index) => (
        <li key={index} className={problem.severity === "error" ? "tone-bad" : "tone-wait"}>
          <Icon name={problem.severity === "error" ? "cross" : "warning"} />
          <span>
            {problem.message}
            {problem.suggestion && <span className="quiet"> {problem.suggestion}.</span>}
            <FixButton problem={problem} />
          </span>
        </li>
      ))}
    </ul>
  );
}
