// Keeps what is not saved in this browser, a moment after each change: a reload or a crash loses nothing.
import { useEffect } from "react";
import { writeCanvas } from "../model/document";
import { draftOf, dropDraft, keepDraft } from "../server/drafts";
import { type Editor, editor, isDirty } from "../store";

const DELAY = 250; // ms

export function useDrafting(): void {
  useEffect(() => {
    let timer: number | undefined;
    let kept = editor.getState().history.present;
    async function keep(): Promise<void> {
      const state = editor.getState();
      const canvas = state.history.present;
      kept = canvas;
      try {
        if (isDirty(state)) {
          const { name, description, status } = canvas;
          const draft = { name, description, status, ...writeCanvas(canvas) };
          await keepDraft(state.workflow, {
            version: state.saved.version,
            at: new Date().toISOString(),
            canvas: draft,
          });
          const now = editor.getState();
          if (isDirty(now) && now.history.present === canvas) editor.setState({ draft: "kept" });
        } else {
          if (await draftOf(state.workflow)) await dropDraft(state.workflow);
          if (!isDirty(editor.getState())) editor.setState({ draft: "none" });
        }
      } catch {
        editor.setState({ draft: "failed" });
      }
    }
    function notice(state: Editor, before: Editor): void {
      if (!state.mayEdit || (state.history.present === before.history.present && state.saved === before.saved)) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(keep, DELAY);
      if (state.draft === "kept") editor.setState({ draft: "none" }); // what is kept is older than what is shown
    }
    function flush(): void {
      if (editor.getState().history.present !== kept) void keep();
    }
    // Only where nothing else holds it is a question in order.
    function ask(event: BeforeUnloadEvent): void {
      const state = editor.getState();
      if (isDirty(state) && (state.draft === "failed" || state.history.present !== kept)) event.preventDefault();
    }
    const stop = editor.subscribe(notice);
    addEventListener("pagehide", flush);
    addEventListener("visibilitychange", flush);
    addEventListener("beforeunload", ask);
    return () => {
      stop();
      window.clearTimeout(timer);
      removeEventListener("pagehide", flush);
      removeEventListener("visibilitychange", flush);
      removeEventListener("beforeunload", ask);
    };
  }, []);
}
