// Undo and redo of anything: what was, what is and what was taken back. Changes of one group become one step.
export interface History<T> {
  past: T[];
  present: T;
  future: T[];
  group: string | null; // of the last change; the next one of the same group joins it
}

export const MOST = 300;

export function begin<T>(present: T): History<T> {
  return { past: [], present, future: [], group: null };
}

export function record<T>(history: History<T>, present: T, group: string | null = null): History<T> {
  if (present === history.present) return history;
  if (group !== null && group === history.group) return { ...history, present, future: [] };
  return { past: [...history.past, history.present].slice(-MOST), present, future: [], group };
}

// The next change is a step of its own, whatever its group.
export function close<T>(history: History<T>): History<T> {
  return history.group === null ? history : { ...history, group: null };
}

export function undo<T>(history: History<T>): History<T> {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return {
    past: history.past.slice(0, -1),
    present: before,
    future: [history.present, ...history.future],
    group: null,
  };
}

export function redo<T>(history: History<T>): History<T> {
  const [next, ...rest] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.present], present: next, future: rest, group: null };
}
