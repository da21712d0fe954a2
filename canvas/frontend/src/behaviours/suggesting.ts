// Asks which connections the canvas could have, and draws those that a person accepts.
import { writeCanvas } from "../model/document";
import { accepted, type Entry, readSuggestions, standing } from "../model/suggestions";
import { request } from "../server/requests";
import { canvasNow, change, choose, editor, say } from "../store";
import { NOTHING_SUGGESTED, suggestingStore } from "../suggestions";

let asked: AbortController | null = null;

// `preserve`: only new ones; else the whole wiring anew, with what would go.
export async function suggest(preserve = true): Promise<void> {
  if (!editor.getState().mayEdit) return;
  if (canvasNow().nodes.length === 0) return say("There is nothing to connect yet.", true);
  asked?.abort();
  const control = new AbortController();
  asked = control;
  suggestingStore.setState({ ...NOTHING_SUGGESTED, state: "asking", preserve });
  try {
    const body = { ...writeCanvas(canvasNow()), preserve_existing: preserve };
    const answer = readSuggestions(
      await request("POST", "/workflows/suggest-connections", { body, signal: control.signal }),
    );
    if (control.signal.aborted) return;
    suggestingStore.setState({ ...answer, state: "open", at: answer.entries[0]?.id ?? "" });
  } catch (error) {
    if (control.signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    suggestingStore.setState({ state: "failed", message });
  }
}

export function closeSuggestions(): void {
  asked?.abort();
  suggestingStore.setState(NOTHING_SUGGESTED);
}

export function toggleSuggestions(): void {
  if (suggestingStore.getState().state === "closed") void suggest();
  else closeSuggestions();
}

export function standingNow(): Entry[] {
  return standing(canvasNow(), suggestingStore.getState().entries);
}

// One step of the history, however many. What is accepted leaves the list, and comes back with undo.
export function accept(entries: Entry[]): void {
  const before = standingNow();
  change((canvas) => accepted(canvas, entries));
  lookAfter(before, entries);
  if (entries.length > 1) say(`${entries.length} suggestions accepted. Undo takes them back.`);
}

export function reject(entries: Entry[]): void {
  const before = standingNow();
  const ids = new Set(entries.map((one) => one.id));
  suggestingStore.setState((state) => ({ entries: state.entries.filter((one) => !ids.has(one.id)) }));
  lookAfter(before, entries);
}

// Looks at one, and brings what it connects into view.
export function lookAt(entry: Entry): void {
  suggestingStore.setState({ at: entry.id });
  choose([]);
}

function lookAfter(before: Entry[], gone: Entry[]): void {
  const left = standingNow();
  const index = before.findIndex((one) => gone.some((other) => other.id === one.id));
  suggestingStore.setState({ at: (left[Math.max(0, index)] ?? left.at(-1))?.id ?? "" });
}
