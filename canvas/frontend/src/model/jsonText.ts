// JSON as it is typed: what a text means, where it stops being JSON, and what of a long one is shown.
import { isObject, type Json } from "./json";

export interface Fault {
  at: number | null; // characters from the beginning; null where the parser does not say
  message: string;
}

export const LONGEST_SHOWN = 200_000; // characters of a value that are laid out at once
const CUT = 2_000;
const REFERENCE = /^\s*(\$\{|\{%)/;

export function isReference(value: Json | undefined): value is string {
  return typeof value === "string" && /\$\{|\{%/.test(value);
}

export function textOf(value: Json | undefined): string {
  return value === undefined ? "" : isReference(value) ? value : JSON.stringify(value, null, 2);
}

// What the text means; nothing for none, and a reference or an expression for itself.
export function readText(text: string): { value: Json | undefined; fault: Fault | null } {
  if (!text.trim()) return { value: undefined, fault: null };
  if (REFERENCE.test(text)) return { value: text, fault: null };
  try {
    return { value: JSON.parse(text) as Json, fault: null };
  } catch (error) {
    return { value: undefined, fault: faultOf(error instanceof Error ? error.message : String(error), text) };
  }
}

// Browsers say where in words of their own, or not at all.
function faultOf(said: string, text: string): Fault {
  const offset = /at position (\d+)/.exec(said);
  const place = /line (\d+) column (\d+)/.exec(said);
  const sentence = said
    .replace(/^JSON\.parse: /, "")
    .replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, "")
    .replace(/ (in JSON )?at (position|line) .*$/s, "");
  if (offset) return { at: Math.min(Number(offset[1]), text.length), message: sentence };
  if (place)
    return { at: Math.min(startOf(text, Number(place[1])) + Number(place[2]) - 1, text.length), message: sentence };
  if (/unexpected end/i.test(said)) return { at: text.length, message: "It ends too early" };
  return { at: null, message: sentence };
}

function startOf(text: string, line: number): number {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = text.indexOf("\n", start) + 1;
  return start;
}

export function placeIn(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}

export function spokenFault(fault: Fault, text: string): string {
  if (fault.at === null) return `${fault.message}.`;
  const { line, column } = placeIn(text, fault.at);
  return `Line ${line}, column ${column}: ${fault.message}.`;
}

// About how many characters a value takes as JSON, counted no further than `most`.
export function weightOf(value: Json | undefined, most = LONGEST_SHOWN): number {
  const waiting: (Json | undefined)[] = [value];
  let weight = 0;
  while (waiting.length && weight <= most) {
    const one = waiting.pop();
    if (typeof one === "string") weight += one.length + 2;
    else if (Array.isArray(one)) {
      weight += 2 + one.length;
      if (one.length > most) return most + 1;
      waiting.push(...one.slice(0, most));
    } else if (isObject(one)) {
      for (const [key, part] of Object.entries(one)) {
        weight += key.length + 4;
        waiting.push(part);
        if (weight > most) break;
      }
    } else weight += 4;
  }
  return weight;
}

// The beginning of a value as text.
export function preview(value: Json): string {
  return textOf(cut(value, 0)).slice(0, CUT);
}

function cut(value: Json, depth: number): Json {
  if (typeof value === "string") return value.slice(0, CUT);
  if (Array.isArray(value)) return depth > 8 ? "…" : value.slice(0, 50).map((one) => cut(one, depth + 1));
  if (!isObject(value)) return value;
  if (depth > 8) return "…";
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([key, one]) => [key.slice(0, CUT), cut(one, depth + 1)]),
  );
}
