// A sentence as the server understood it, and its drawing put on a canvas: instead of what is there, or beside it.

import { pasted } from "./clipboard";
import { type Canvas, type CanvasEdge, type CanvasNode, kindOf, placeOf, readCanvas, sizeOf } from "./document";
import { isObject, type Json, type JsonObject, objectOr, textOr } from "./json";

export interface Question {
  parameter: string;
  text: string;
  options: string[];
}

export interface Understood {
  source: string; // llm, or fallback
  reason: string;
  explanation: { subject: string; text: string }[];
  questions: Question[];
  warnings: string[];
  schedule: { cron: string; zone: string } | null;
  drawing: Canvas | null;
}

export function readUnderstood(answer: JsonObject): Understood {
  const cron = objectOr(answer.cronSpec);
  const drawn = isObject(answer.canvas) ? answer.canvas : null;
  return {
    source: textOr(answer.source),
    reason: textOr(answer.reason),
    explanation: objects(answer.explanation).map((note) => ({
      subject: textOr(note.subject),
      text: textOr(note.text),
    })),
    questions: objects(answer.questions).map((question) => ({
      parameter: textOr(question.parameter),
      text: textOr(question.text),
      options: texts(question.options),
    })),
    warnings: [...texts(answer.warnings), ...texts(drawn?.leftOut)],
    schedule: answer.isCron === true ? { cron: textOr(cron.schedule), zone: textOr(cron.timezone, "UTC") } : null,
    drawing: drawn ? readCanvas({ nodes: drawn.nodes ?? [], edges: drawn.edges ?? [] }) : null,
  };
}

// Everything that was drawn makes room; what the workflow is called stays.
export function putInstead(canvas: Canvas, drawing: Canvas): Canvas {
  const { name, description, status } = canvas;
  return { ...drawing, name, description, status };
}

// Below what is there, with ids that are free. Its start and end are those of the canvas where it has them: inputs that
// the start does not declare yet are added to it.
export function putBeside(canvas: Canvas, drawing: Canvas): Canvas {
  const low = Math.max(...canvas.nodes.map((node, index) => placeOf(node, index).y + sizeOf(node).height), 0);
  const top = Math.min(...drawing.nodes.map((node, index) => placeOf(node, index).y), 0);
  const left = Math.min(...canvas.nodes.map((node, index) => placeOf(node, index).x));
  const offset = { x: Number.isFinite(left) ? left : 0, y: Math.round((low - top + 72) / 4) * 4 };
  const text = JSON.stringify({
    nodes: drawing.nodes.map((one) => one.raw),
    edges: drawing.edges.map((one) => one.raw),
  });
  const copy = pasted(canvas, text, offset);
  if (!copy) return canvas;
  const ends = new Map<string, string>();
  let nodes = canvas.nodes;
  for (const kind of ["start", "end"] as const) {
    const own = canvas.nodes.find((node) => kindOf(node) === kind);
    const other = copy.nodes.find((node) => kindOf(node) === kind);
    if (!own || !other) continue;
    ends.set(other.key, own.key);
    if (kind === "start") nodes = nodes.map((node) => (node === own ? withInputs(node, other) : node));
  }
  const moved = (edge: CanvasEdge): CanvasEdge => {
    const [source, target] = [ends.get(edge.source) ?? edge.source, ends.get(edge.target) ?? edge.target];
    return source === edge.source && target === edge.target
      ? edge
      : { ...edge, source, target, raw: { ...edge.raw, source, target } };
  };
  return {
    ...canvas,
    nodes: [...nodes, ...copy.nodes.filter((node) => !ends.has(node.key))],
    edges: [...canvas.edges, ...copy.edges.map(moved)],
  };
}

function withInputs(own: CanvasNode, other: CanvasNode): CanvasNode {
  const [data, more] = [objectOr(own.raw.data), objectOr(objectOr(other.raw.data).config)];
  const config = { ...more, ...objectOr(data.config) };
  return { ...own, raw: { ...own.raw, data: { ...data, config } } };
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
