// What is done with the canvas as a whole, and how it stands: saved or not, right or not.
import type { ReactElement } from "react";
import { isDirty, makeAgain, takeBack, useEditor } from "../store";
import { openHistory } from "../versions";
import { Icon } from "./icons";
import { MoreMenu } from "./MoreMenu";
import { SuggestButton } from "./suggest/SuggestButton";
import { SavedState } from "./versions/SavedState";

interface Deeds {
  save: () => void;
  arrange: () => void;
  run: () => void;
  problems: () => void;
  conflict: () => void;
  describe: () => void;
}

export function Toolbar({ deeds }: { deeds: Deeds }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const mayRun = useEditor((state) => state.mayRun);
  const name = useEditor((state) => state.history.present.name);
  const version = useEditor((state) => state.saved.version);
  const workflow = useEditor((state) => state.workflow);
  const canUndo = useEditor((state) => state.history.past.length > 0);
  const canRedo = useEditor((state) => state.history.future.length > 0);
  const dirty = useEditor(isDirty);
  return (
    <header className="toolbar">
      <div className="title">
        <a href="/ui/workflows">Workflows</a> /{" "}
        <a href={`/ui/workflows/${workflow}`} className="name" dir="auto">
          {name || "without a name"}
        </a>{" "}
        <span className="quiet">v{version}</span>
      </div>
      <SavedState onConflict={deeds.conflict} />
      <div className="row tools">
        {mayEdit && (
          <>
            <Tool icon="undo" title="Undo (Ctrl Z)" disabled={!canUndo} onClick={takeBack} />
            <Tool icon="redo" title="Redo (Ctrl Shift Z)" disabled={!canRedo} onClick={makeAgain} />
            <Tool icon="arrange" title="Arrange (l)" onClick={deeds.arrange} />
            <SuggestButton />
            <Tool icon="edit" title="Describe it in a sentence (e)" onClick={deeds.describe} />
          </>
        )}
        <Tool icon="history" title="History (h)" onClick={openHistory} />
        <MoreMenu />
        <ProblemsButton onClick={deeds.problems} />
        {mayEdit && (
          <button type="button" className="button" onClick={deeds.save} disabled={!dirty} title="Save (Ctrl S)">
            <Icon name="save" />
            Save
          </button>
        )}
        {mayRun && (
          <button type="button" className="button primary" onClick={deeds.run} title="Run (Ctrl Enter)">
            <Icon name="start" />
            Run
          </button>
        )}
      </div>
    </header>
  );
}

function Tool({
  icon,
  title,
  disabled = false,
  onClick,
}: {
  icon: string;
  title: string;
  disabled?: boolean;
  onClick: () => void;
}): ReactElement {
  return (
    <button type="button" className="plain" title={title} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
      <span className="hidden">{title}</span>
    </button>
  );
}

function ProblemsButton({ onClick }: { onClick: () => void }): ReactElement {
  const problems = useEditor((state) => state.problems);
  const checking = useEditor((state) => state.checking);
  const errors = problems.filter((problem) => problem.severity === "error").length;
  const warnings = problems.length - errors;
  const said = [
    errors && `${errors} ${errors === 1 ? "error" : "errors"}`,
    warnings && `${warnings} ${warnings === 1 ? "warning" : "warnings"}`,
  ]
    .filter(Boolean)
    .join(", ");
  const tone = checking.state === "failed" ? "idle" : errors ? "bad" : warnings ? "wait" : "good";
  return (
    <button
      type="button"
      className={`plain problems-button status tone-${tone}`}
      onClick={onClick}
      title="Problems (p)"
      data-checking={checking.state}
    >
      <Icon name={checking.state === "failed" ? "unknown" : errors ? "cross" : warnings ? "warning" : "check"} />
      {checking.state === "failed" ? "not checked" : said || "valid"}
    </button>
  );
}
