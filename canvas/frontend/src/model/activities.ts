// The knowledge base as the server answers it, and what the editor asks of it: names, fields, types.
import { activityOf, type Canvas, type CanvasNode, squash, stateTypeOf } from "./document";
import { isObject, type Json, type JsonObject, objectOr, textOr } from "./json";
import { ancestors, called, failedBefore } from "./order";

export interface Field {
  name: string;
  type: string;
  description: string;
  required: boolean;
  default?: Json;
  examples: Json[];
  enum: Json[] | null;
  types?: string[]; // where it may have several
  secrets?: "value" | "url" | "handle"; // where a secret may stand in it
  items?: JsonObject; // of an array: what its elements are
  values?: JsonObject; // of an object: what stands under any key
  format?: string; // of a text: duration, date-time, ...
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
}

const NUMBERS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;
const EVERY_TYPE = 6;

export interface Activity {
  name: string;
  description: string;
  category: string;
  keywords: string[];
  inputs: Field[];
  outputs: Field[];
  timeout: string;
  retries: number;
  backoff?: number;
  notes: string;
}

export class Activities {
  readonly all: Activity[];
  private readonly bySpelling: Map<string, Activity>;

  constructor(all: Activity[]) {
    this.all = all;
    this.bySpelling = new Map(all.map((activity) => [squash(activity.name), activity]));
  }

  find(name: string): Activity | undefined {
    return this.all.find((activity) => activity.name === name) ?? this.bySpelling.get(squash(name));
  }

  of(node: CanvasNode): Activity | undefined {
    const name = activityOf(node);
    return name ? this.find(name) : undefined;
  }

  inputsOf(node: CanvasNode): Field[] {
    return STATE_FIELDS[stateTypeOf(node)] ?? this.of(node)?.inputs ?? [];
  }

  outputsOf(node: CanvasNode): Field[] {
    return stateTypeOf(node) ? [] : (this.of(node)?.outputs ?? []);
  }
}

export function readActivities(answer: JsonObject): Activities {
  const list = Array.isArray(answer.activities) ? answer.activities.filter(isObject) : [];
  return new Activities(
    list
      .filter((entry) => entry.internal !== true)
      .map((entry) => {
        const limits = objectOr(entry.constraints);
        return {
          name: textOr(entry.name),
          description: textOr(entry.description),
          category: textOr(entry.category, "other"),
          keywords: Array.isArray(entry.keywords) ? entry.keywords.map(String) : [],
          inputs: fieldsOf(entry.inputs),
          outputs: fieldsOf(entry.outputs),
          timeout: textOr(limits.defaultTimeout),
          retries: typeof limits.recommendedRetries === "number" ? limits.recommendedRetries : 1,
          ...(typeof limits.retryBackoff === "number" ? { backoff: limits.retryBackoff } : {}),
          notes: textOr(limits.notes),
        };
      }),
  );
}

function fieldsOf(sent: Json | undefined): Field[] {
  return Object.entries(objectOr(sent)).map(([name, value]) => {
    const entry = objectOr(value);
    const field: Field = {
      name,
      type: textOr(entry.type, "object"),
      description: textOr(entry.description),
      required: entry.required === true,
      examples: Array.isArray(entry.examples) ? entry.examples : [],
      enum: Array.isArray(entry.enum) ? entry.enum : null,
    };
    if (entry.default !== undefined) field.default = entry.default;
    for (const key of NUMBERS) {
      const limit = entry[key];
      if (typeof limit === "number") field[key] = limit;
    }
    if (Array.isArray(entry.types) && entry.types.length > 1) field.types = entry.types.map(String);
    if (field.types && field.types.length >= EVERY_TYPE) field.type = "any";
    if (entry.secrets === "value" || entry.secrets === "url" || entry.secrets === "handle")
      field.secrets = entry.secrets;
    if (isObject(entry.items)) field.items = entry.items;
    if (isObject(entry.additionalProperties)) field.values = entry.additionalProperties;
    if (typeof entry.format === "string") field.format = entry.format;
    if (typeof entry.pattern === "string") field.pattern = entry.pattern;
    return field;
  });
}

export function fieldOf(name: string, type: string, description = "", required = false): Field {
  return { name, type, description, required, examples: [], enum: null };
}

function lasting(name: string, description: string): Field {
  return { ...fieldOf(name, "string", description), format: "duration" };
}

// The keys of the kinds of state that are no activities (spec reference).
const STATE_FIELDS: Record<string, Field[]> = {
  Wait: [
    lasting("duration", "How long, such as 30s or 1h30m"),
    { ...fieldOf("until", "string", "Or the moment until which, such as 2030-01-31T09:00:00Z"), format: "date-time" },
  ],
  WaitForSignal: [
    fieldOf("signal", "string", "Name of the signal that is waited for", true),
    lasting("timeout", "After which it fails, such as 7d"),
  ],
  Workflow: [
    fieldOf("workflow", "string", "Name or id of the workflow to run", true),
    fieldOf("input", "object", "The inputs of its run"),
    lasting("timeout", "After which it fails, such as 10m"),
  ],
  Fail: [
    fieldOf("error", "string", "A name for the failure, such as StepFailed"),
    fieldOf("cause", "string", "What went wrong, in a sentence"),
  ],
};

export interface Readable {
  text: string; // what is written into the field
  node: string; // label of the node, "" for the inputs of the run
  name: string;
  type: string;
  fits: boolean;
  isCertain: boolean;
}

// What a field of this node may read: inputs of the run, and outputs of the nodes before it, nearest first. What a
// condition may have skipped is not listed, since it may not be there.
export function readables(canvas: Canvas, activities: Activities, key: string, wanted: string): Readable[] {
  const list: Readable[] = [];
  for (const [before, isCertain] of ancestors(canvas, key)) {
    const node = canvas.nodes.find((one) => one.key === before);
    if (!node || !isCertain) continue;
    const label = called(canvas, before);
    const outputs = activities.outputsOf(node);
    for (const { name, type } of outputs) {
      list.push({ text: `\${${before}.output.${name}}`, node: label, name, type, fits: fits(type, wanted), isCertain });
    }
    list.push({
      text: `\${${before}.output}`,
      node: label,
      name: "the whole output",
      type: "object",
      fits: fits("object", wanted),
      isCertain,
    });
  }
  for (const failed of failedBefore(canvas, key)) {
    for (const name of ["message", "name"]) {
      const text = `\${${failed}.error.${name}}`;
      const label = called(canvas, failed);
      list.push({
        text,
        node: label,
        name: `error ${name}`,
        type: "string",
        fits: fits("string", wanted),
        isCertain: true,
      });
    }
  }
  for (const name of inputNames(canvas)) {
    list.push({ text: `\${workflow.input.${name}}`, node: "", name, type: "any", fits: true, isCertain: true });
  }
  return list;
}

export function fits(produced: string, wanted: string): boolean {
  return (
    produced === wanted || produced === "any" || wanted === "any" || (produced === "integer" && wanted === "number")
  );
}

const INPUT = /workflow\.input\.([A-Za-z_][A-Za-z0-9_]{0,63})/g;

// Names of the inputs that the start declares or anything reads, in that order.
export function inputNames(canvas: Canvas): string[] {
  const declared = Object.keys(declaredInputs(canvas));
  const read = [...JSON.stringify([canvas.nodes.map((n) => n.raw), canvas.edges.map((e) => e.raw)]).matchAll(INPUT)];
  return [...new Set([...declared, ...read.map((match) => match[1] ?? "")])];
}

export function declaredInputs(canvas: Canvas): JsonObject {
  const start = canvas.nodes.find((node) => node.raw.type === "start");
  return start ? objectOr(objectOr(start.raw.data).config) : {};
}
