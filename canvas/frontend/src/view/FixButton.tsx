// What mends a problem, as a button beside it.
import type { ReactElement } from "react";
import { applyFix } from "../behaviours/fixing";
import type { Problem } from "../model/problems";
import { say, useEditor } from "../store";
import { Icon } from "./icons";
import "./fixes.css";

export function FixButton({ problem }: { problem: Problem }): ReactElement | null {
  const mayEdit = useEditor((state) => state.mayEdit);
  const { fix } = problem;
  if (!fix || !mayEdit) return null;
  return (
    <button
      type="button"
      className="button fix"
      title="One step, which undo takes back"
      onClick={() => applyFix(problem) && say(`${fix.label}: done. Undo takes it back.`)}
    >
      <Icon name="check" />
      <span dir="auto">{fix.label}</span>
    </button>
  );
}
