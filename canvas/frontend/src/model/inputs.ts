// The inputs that a run is asked for: which ones, of what type, and what is wrong with what was typed.
import { declaredInputs, inputNames } from "./activities";
import type { Canvas } from "./document";
import { isObject, type Json, type JsonObject } from "./json";

export type InputType = "text" | "number" | "boolean" | "object" | "array" | "any";

export interface Input {
  name: string;
  type: InputType; // of its default; "any" without one
  default: Json | undefined;
  isRequired: boolean; // it is read and has no default
  isSecret: boolean; // by its name: neither shown nor remembered
}

const SECRET = /token|passw|secret|authorization|api_?key|credential/i;

// What the start declares or anything reads, and what `missing` says is to be given.
export function inputsOf(canvas: Canvas, missing: string[]): Input[] {
  const defaults = declaredInputs(canvas);
  return [...new Set([...inputNames(canvas), ...missing])].map((name) => {
    const value = defaults[name];
    return {
      name,
      type: typeOf(value),
      default: value,
      isRequired: value === undefined,
      isSecret: SECRET.test(name),
    };
  });
}

function typeOf(value: Json | undefined): InputType {
  if (value === undefined || value === null) return "any";
  if (Array.isArray(value)) return "array";
  if (isObject(value)) return "object";
  return typeof value === "string" ? "text" : typeof value === "number" ? "number" : "boolean";
}

// The value that was meant, undefined for one that is left out; throws an Error that says what was expected.
export function meant(input: Input, text: string): Json | undefined {
  if (!text.trim()) {
    if (input.isRequired) throw new Error('It is read and has no default. Type "" for an empty text.');
    return undefined;
  }
  if (input.type === "text") return text === '""' ? "" : text;
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    if (input.type === "any" && !/^\s*[[{]/.test(text)) return text;
    const why = error instanceof Error && /^\s*[[{]/.test(text) ? ` (${error.message})` : "";
    throw new Error(input.type === "any" ? `This is no JSON${why}.` : `${wanted(input.type)}${why}.`);
  }
  const found = typeOf(value);
  if (input.type !== "any" && value !== null && found !== input.type) throw new Error(`${wanted(input.type)}.`);
  return value;
}

function wanted(type: InputType): string {
  return {
    text: "A text is expected",
    number: "A number is expected",
    boolean: "true or false is expected",
    object: 'An object is expected, such as {"key": "value"}',
    array: "A list is expected, such as [1, 2]",
    any: "A value is expected",
  }[type];
}

// As it is typed: what `meant` reads back as the same value.
export function typed(input: Input, value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value);
  if (value === "") return '""';
  if (input.type === "text") return value;
  try {
    JSON.parse(value);
    return JSON.stringify(value);
  } catch {
    return /^\s*[[{]/.test(value) ? JSON.stringify(value) : value;
  }
}

// All that was typed, or what is wrong with it, by name.
export function given(
  inputs: Input[],
  texts: Record<string, string>,
): { values: JsonObject; faults: Record<string, string> } {
  const values: JsonObject = {};
  const faults: Record<string, string> = {};
  for (const input of inputs) {
    try {
      const value = meant(input, texts[input.name] ?? "");
      if (value !== undefined) values[input.name] = value;
    } catch (error) {
      faults[input.name] = error instanceof Error ? error.message : String(error);
    }
  }
  return { values, faults };
}
