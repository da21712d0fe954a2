// Durations as people and specs write them: 30s, 5m, 1h30m, 500ms.

const WHOLE = /^(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ms|us|µs|d|h|m|s)){1,7}$/;
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|us|µs|d|h|m|s)/g;
const SECONDS: Record<string, number> = { d: 86_400, h: 3_600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6 };

export const A_DAY = 86_400;

export function secondsOf(text: string): number | null {
  if (!WHOLE.test(text)) return null;
  return [...text.matchAll(PART)].reduce((sum, [, count, unit]) => sum + Number(count) * (SECONDS[unit ?? ""] ?? 0), 0);
}

// What is wrong with a duration as a sentence; "" for a right one, an empty one, and a reference.
export function durationFault(text: string, most = Number.POSITIVE_INFINITY): string {
  if (!text || /\$\{|\{%/.test(text)) return "";
  const seconds = secondsOf(text);
  if (seconds === null) return "This is no duration; write it like 30s, 5m, 1h30m or 500ms.";
  if (seconds <= 0) return "A duration is longer than nothing.";
  return seconds > most ? `At most ${most / 3600}h.` : "";
}

export function momentFault(text: string): string {
  if (!text || /\$\{|\{%/.test(text)) return "";
  const isMoment = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.test(text);
  return isMoment && !Number.isNaN(Date.parse(text)) ? "" : "This is no moment; write it like 2030-01-31T08:00:00Z.";
}
