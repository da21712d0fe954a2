// Asks the server what is wrong with the canvas as it is drawn, a moment after each change; only the newest answer counts.
import { useEffect } from "react";
import { judge } from "../server/judging";
import { editor, setProblems } from "../store";

const DELAY = 350; // ms
const AGAIN = 5000;

export function useChecking(): void {
  useEffect(() => {
    let timer: number | undefined;
    let asked: AbortController | null = null;
    async function check(): Promise<void> {
      asked?.abort();
      const control = new AbortController();
      asked = control;
      const canvas = editor.getState().history.present;
      editor.setState({ checking: { state: "asking" } });
      try {
        const { problems, onEdges } = await judge(canvas, control.signal);
        if (!control.signal.aborted) setProblems(problems, onEdges);
      } catch (error) {
        if (control.signal.aborted) return;
        editor.setState({
          checking: { state: "failed", message: error instanceof Error ? error.message : String(error) },
        });
        timer = window.setTimeout(check, AGAIN);
      }
    }
    const stop = editor.subscribe((state, before) => {
      if (state.history.present === before.history.present) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(check, DELAY);
    });
    // What came with the workflow has no fixes, and says nothing of connections.
    const { draft, history } = editor.getState();
    if (draft === "restored") void check();
    else if (history.present.nodes.length) timer = window.setTimeout(check, DELAY);
    return () => {
      stop();
      window.clearTimeout(timer);
      asked?.abort();
    };
  }, []);
}
