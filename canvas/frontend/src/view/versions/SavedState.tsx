// Whether what is drawn is saved, and where the draft is if not.
import type { ReactElement } from "react";
import { type Editor, isDirty, useEditor } from "../../store";
import { Icon } from "../icons";

type Said = [tone: string, text: string];

function said({ mayEdit, saving, draft, remote }: Editor, dirty: boolean): Said {
  if (!mayEdit) return ["idle", "read only"];
  if (saving.state === "saving") return ["busy", "saving"];
  if (!dirty) return ["good", "saved"];
  if (saving.state === "failed") return ["bad", `not saved: ${saving.message}`];
  if (draft === "failed" && remote !== "kept") return ["bad", "not saved, and no draft is kept"];
  if (draft === "restored") return ["wait", "not saved: your draft was restored"];
  if (remote === "offline") return ["wait", "offline; your draft is kept in this browser"];
  if (remote === "kept") return ["wait", "not saved; draft kept on the server"];
  return ["wait", draft === "kept" ? "not saved; draft kept here" : "not saved"];
}

const isAlike = (one: Said, other: Said): boolean => one[0] === other[0] && one[1] === other[1];

export function SavedState({ onConflict }: { onConflict: () => void }): ReactElement {
  const saving = useEditor((state) => state.saving);
  const mayEdit = useEditor((state) => state.mayEdit);
  const [tone, text] = useEditor((state) => said(state, isDirty(state)), isAlike);
  if (saving.state === "conflict") {
    return (
      <button type="button" className="button danger saved" onClick={onConflict}>
        <Icon name="warning" />
        Version {saving.theirs.version} was saved by somebody else
      </button>
    );
  }
  const title = mayEdit ? text : "Changing this canvas needs the role editor; you may look at everything.";
  return (
    <span className={`saved status tone-${tone}`} role="status" title={title}>
      {text}
    </span>
  );
}
