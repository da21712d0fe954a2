// What a step takes over a connection: the values of its configuration that read the step before, and how one is made
// to fit where the types differ.
import { type Activities, type Field, fits } from "./activities";
import { setNodeKey, withKey } from "./changes";
import { type Canvas, type CanvasEdge, configOf, labelOf } from "./document";
import type { Json, JsonObject } from "./json";

export interface Mapping {
  input: string;
  text: string; // a reference, or an expression between {% and %}
}

// As one step of a JSONata path.
export function quoted(name: string): string {
  const isWord =
    /^[A-Za-z_]\w*$/.test(name) && !["and", "or", "in", "true", "false", "null", "function"].includes(name);
  return isWord ? name : `\`${name.replaceAll("`", "")}\``;
}

export function mappingsOf(canvas: Canvas, edge: CanvasEdge): Mapping[] {
  const target = canvas.nodes.find((node) => node.key === edge.target);
  const source = canvas.nodes.find((node) => node.key === edge.source);
  if (!target || !source) return [];
  const names = [
    `\${${source.key}.`,
    `\${${labelOf(source)}.`,
    `${quoted(source.key)}.`,
    `${quoted(labelOf(source))}.`,
  ];
  return Object.entries(configOf(target)).flatMap(([input, value]) => {
    if (typeof value !== "string" || !/\$\{|\{%/.test(value)) return [];
    return names.some((name) => value.includes(name)) ? [{ input, text: value }] : [];
  });
}

// The text that gives an output to an input: a reference where it fits, else JSONata that makes it fit.
export function mappingText(source: string, output: string, produced: string, wanted: string): string {
  if (fits(produced, wanted)) return output ? `\${${source}.output.${output}}` : `\${${source}.output}`;
  const path = `${quoted(source)}.output${output ? `.${quoted(output)}` : ""}`;
  if (wanted === "string") return `{% $string(${path}) %}`;
  if (wanted === "integer") return `{% $round($number(${path})) %}`;
  if (wanted === "number") return `{% $number(${path}) %}`;
  if (wanted === "boolean") return `{% $boolean(${path}) %}`;
  if (wanted === "array") return `{% [${path}] %}`;
  return `{% {"value": ${path}} %}`;
}

export function setMapping(canvas: Canvas, node: string, input: string, text: string | undefined): Canvas {
  const target = canvas.nodes.find((one) => one.key === node);
  return target ? setNodeKey(canvas, node, "config", withKey(configOf(target), input, text)) : canvas;
}

// Something of the right type to try an expression on where there was no run yet.
export function sampleOf(fields: Field[]): JsonObject {
  return Object.fromEntries(fields.map((field) => [field.name, sampleValue(field)]));
}

function sampleValue(field: Field): Json {
  const [example] = [...field.examples, ...(field.enum ?? [])];
  if (example !== undefined) return example;
  if (field.type === "integer" || field.type === "number") return field.minimum ?? 1;
  if (field.type === "boolean") return true;
  if (field.type === "array") return [];
  return field.type === "object" ? {} : "text";
}

// What an expression at this edge may read: outputs of the source and of what is before it, and the inputs of the run.
export function sampleData(
  canvas: Canvas,
  activities: Activities,
  nodes: string[],
  outputs: ReadonlyMap<string, Json>,
  inputs: JsonObject,
): JsonObject {
  const data: JsonObject = {};
  for (const key of nodes) {
    const node = canvas.nodes.find((one) => one.key === key);
    if (node) data[key] = { output: outputs.get(key) ?? sampleOf(activities.outputsOf(node)) };
  }
  data.workflow = { input: inputs };
  return data;
}

// Labels that name one node only, with its id.
export function labelsOf(canvas: Canvas): Record<string, string> {
  const labels = new Map<string, string | null>();
  for (const node of canvas.nodes) labels.set(labelOf(node), labels.has(labelOf(node)) ? null : node.key);
  return Object.fromEntries(
    [...labels].filter((pair): pair is [string, string] => pair[1] !== null && pair[0].length <= 128),
  );
}
