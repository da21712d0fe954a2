// What a field of an activity asks of its value, as JSON Schema says it: which control fits, and what breaks its limits.
import type { Field } from "./activities";
import { durationFault, momentFault } from "./durations";
import { isEqual, isObject, type Json } from "./json";
import { isReference } from "./jsonText";

export type Control = "choice" | "number" | "text" | "list" | "rows" | "any" | "json";

const LONG = 1_000;
export const MOST_ROWS = 200; // of a list or table; a longer one is edited as JSON

// The control for a field that holds this value; a value that the control cannot show is JSON.
export function controlFor(field: Field, value: Json | undefined): Control {
  const control = controlOf(field);
  if (value === undefined || isReference(value)) return control;
  if (control === "list" && !isList(value)) return "json";
  if (control === "rows" && !isTable(value)) return "json";
  if (control === "text" && typeof value !== "string") return "json";
  return control;
}

function controlOf(field: Field): Control {
  if (field.enum || field.type === "boolean") return "choice";
  if (field.type === "any") return "any";
  if ((field.types?.length ?? 0) > 1) return "json";
  if (field.type === "integer" || field.type === "number") return "number";
  if (field.type === "string") return "text";
  if (field.type === "array" && field.items?.type === "string") return "list";
  if (field.type === "object" && field.values?.type === "string") return "rows";
  return "json";
}

function isList(value: Json): boolean {
  return Array.isArray(value) && value.length <= MOST_ROWS && value.every((one) => typeof one === "string");
}

function isTable(value: Json): boolean {
  return (
    isObject(value) &&
    Object.keys(value).length <= MOST_ROWS &&
    Object.values(value).every((one) => typeof one === "string")
  );
}

// The limits of a field in words; "" where there are none worth saying.
export function spokenLimits(field: Field): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, pattern } = field;
  const said: string[] = [];
  if (minimum !== undefined && maximum !== undefined) said.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) said.push(`at least ${minimum}`);
  else if (maximum !== undefined) said.push(`at most ${maximum}`);
  if (exclusiveMinimum !== undefined) said.push(`more than ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined) said.push(`less than ${exclusiveMaximum}`);
  if (multipleOf !== undefined) said.push(`in steps of ${multipleOf}`);
  // A bound that people do not come near is told when it is passed.
  const longest = (field.maxLength ?? 0) >= LONG ? undefined : field.maxLength;
  said.push(between(field.minLength === 1 ? undefined : field.minLength, longest, "characters"));
  said.push(between(field.minItems, field.maxItems, "elements"));
  said.push(between(field.minProperties, field.maxProperties, "keys"));
  if (pattern !== undefined) said.push(`as ${pattern}`);
  return said.filter(Boolean).join(", ");
}

function between(least: number | undefined, most: number | undefined, what: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most} ${what}`;
  if (most !== undefined) return `at most ${most} ${what}`;
  return least !== undefined ? `at least ${least} ${what}` : "";
}

// What is wrong with a value, as a sentence; "" for a right one, a left out one, and what is known only in a run.
export function violation(field: Field, value: Json | undefined): string {
  if (value === undefined || isReference(value)) return "";
  if (field.enum) {
    return field.enum.some((one) => isEqual(one, value)) ? "" : `Expected one of ${field.enum.map(String).join(", ")}.`;
  }
  if ((field.types?.length ?? 0) > 1) return "";
  if (field.type === "integer" || field.type === "number") return numberFault(field, value);
  if (field.type === "string") return textFault(field, value);
  if (field.type === "boolean") return typeof value === "boolean" ? "" : "Expected true or false.";
  if (field.type === "array") return Array.isArray(value) ? countFault(field, value.length) : "Expected a list.";
  if (field.type === "object") {
    return isObject(value) ? countFault(field, Object.keys(value).length) : "Expected an object.";
  }
  return "";
}

function numberFault(field: Field, value: Json): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = field;
  const isWhole = field.type === "integer";
  const limits = spokenLimits(field);
  const expected = `Expected ${isWhole ? "a whole number" : "a number"}${limits && `, ${limits}`}.`;
  if (typeof value !== "number" || !Number.isFinite(value) || (isWhole && !Number.isInteger(value))) return expected;
  const isWithin =
    value >= (minimum ?? value) &&
    value <= (maximum ?? value) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum) &&
    (exclusiveMaximum === undefined || value < exclusiveMaximum) &&
    (multipleOf === undefined || Math.abs(value / multipleOf - Math.round(value / multipleOf)) < 1e-9);
  return isWithin ? "" : expected;
}

function textFault(field: Field, value: Json): string {
  if (typeof value !== "string") return "Expected text.";
  if (field.format === "duration") return durationFault(value);
  if (field.format === "date-time") return momentFault(value);
  const length = [...value.slice(0, 2 * (field.maxLength ?? 0) + 2)].length; // as the server counts, whole characters
  if (field.maxLength !== undefined && length > field.maxLength) {
    return `At most ${field.maxLength} characters; these are ${[...value].length}.`;
  }
  if (field.minLength !== undefined && value.length < field.minLength) return `At least ${field.minLength} characters.`;
  if (field.pattern !== undefined && !matches(field.pattern, value)) return `Expected text as ${field.pattern}.`;
  return "";
}

// A pattern that this browser cannot read is left to the server.
function matches(pattern: string, value: string): boolean {
  try {
    return value.length > 1_000 || new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function countFault(field: Field, count: number): string {
  const least = field.minItems ?? field.minProperties ?? 0;
  const most = field.maxItems ?? field.maxProperties ?? count;
  if (count >= least && count <= most) return "";
  const limits = spokenLimits(field);
  return `Expected ${limits}; there ${count === 1 ? "is 1" : `are ${count}`}.`;
}
