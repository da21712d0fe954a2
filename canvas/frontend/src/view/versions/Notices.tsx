// What one should know before drawing on: a draft that was restored, a newer version, a draft in another tab.
import type { ReactElement, ReactNode } from "react";
import { keepOverElsewhere, takeElsewhere } from "../../behaviours/drafting";
import { decide } from "../../behaviours/noticing";
import { discardDraft, take } from "../../behaviours/saving";
import { readCanvas } from "../../model/document";
import { remoteDraftOf } from "../../server/remoteDraft";
import { canvasNow, editor, isDirty, say, useEditor } from "../../store";
import { showPair } from "../../versions";
import { Icon } from "../icons";
import { spokenTime } from "./times";
import "./notices.css";

export function Notices(): ReactElement {
  return (
    <div className="notices">
      <NewerVersion />
      <RestoredDraft />
      <DraftElsewhere />
    </div>
  );
}

function Notice({ tone, children }: { tone: string; children: ReactNode }): ReactElement {
  return (
    <div className={`notice tone-${tone}`} role="status">
      {children}
    </div>
  );
}

function Deed({ text, onClick }: { text: string; onClick: () => void }): ReactElement {
  return (
    <button type="button" className="button small" onClick={onClick}>
      {text}
    </button>
  );
}

function NewerVersion(): ReactElement | null {
  const newer = useEditor((state) => state.newer);
  const version = useEditor((state) => state.saved.version);
  const dirty = useEditor(isDirty);
  if (!newer) return null;
  const before = () => editor.getState().saved;
  return (
    <Notice tone="wait">
      <Icon name="warning" />
      <span className="grow">
        <strong dir="auto">{newer.by || "Somebody"}</strong> saved version {newer.version}
        {newer.at && ` ${spokenTime(newer.at)}`}; {dirty ? "you changed" : "you see"} version {version}.
      </span>
      {dirty ? (
        <Deed text="Look at both…" onClick={decide} />
      ) : (
        <>
          <Deed
            text="Show differences"
            onClick={() =>
              showPair({
                title: `What version ${newer.version} changed`,
                before: { name: `version ${before().version}`, canvas: before().canvas },
                after: { name: `version ${newer.version}`, canvas: newer.canvas },
              })
            }
          />
          <Deed text="Go on with it" onClick={() => take(newer)} />
        </>
      )}
    </Notice>
  );
}

function RestoredDraft(): ReactElement | null {
  const restored = useEditor((state) => state.restored);
  const dirty = useEditor(isDirty);
  if (!restored || !dirty) return null;
  const where = restored.from === "server" ? "kept on the server" : "kept in this browser";
  return (
    <Notice tone="busy">
      <Icon name="save" />
      <span className="grow">
        Your draft {where} {spokenTime(restored.at)} was restored.
        {restored.hasOther && " An older one is one undo away."}
      </span>
      <Deed
        text="Show differences"
        onClick={() => {
          const { saved, history } = editor.getState();
          showPair({
            title: "What your draft changes",
            before: { name: `version ${saved.version}`, canvas: saved.canvas },
            after: { name: "your draft", canvas: history.present },
          });
        }}
      />
      <Deed text="Discard" onClick={discardDraft} />
      <button type="button" className="plain" title="Keep it" onClick={() => editor.setState({ restored: null })}>
        <Icon name="close" />
        <span className="hidden">Keep it</span>
      </button>
    </Notice>
  );
}

function DraftElsewhere(): ReactElement | null {
  const remote = useEditor((state) => state.remote);
  const dirty = useEditor(isDirty);
  const workflow = useEditor((state) => state.workflow);
  if (remote !== "elsewhere") return null;
  async function compare(): Promise<void> {
    try {
      const draft = await remoteDraftOf(workflow);
      if (!draft) return say("The other draft is not there any more.");
      showPair({
        title: "Your two drafts",
        before: { name: `the other draft ${spokenTime(draft.at)}`, canvas: readCanvas(draft.canvas) },
        after: { name: "drawn here", canvas: canvasNow() },
      });
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true);
    }
  }
  const told = (deed: Promise<void>) => void deed.catch((error: Error) => say(error.message, true));
  return (
    <Notice tone="wait">
      <Icon name="warning" />
      <span className="grow">
        You draw on this workflow in another tab or browser too.
        {dirty && " What you draw here is kept in this browser only."}
      </span>
      <Deed text="Show differences" onClick={() => void compare()} />
      <Deed text="Take the other draft" onClick={() => told(takeElsewhere())} />
      {dirty && <Deed text="Keep this one instead" onClick={() => told(keepOverElsewhere())} />}
    </Notice>
  );
}
