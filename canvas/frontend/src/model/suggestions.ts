// Suggested connections as data: read from the answer, held against the canvas as it is now, and drawn when accepted.
import { refusal } from "./changes";
import { type Canvas, free } from "./document";
import { isObject, type Json, type JsonObject, objectOr, textOr } from "./json";

export interface Entry {
  id: string;
  what: "add" | "remove"; // an edge that would come, or go
  source: string;
  target: string;
  type: string;
  label: string;
  wording: JsonObject;
  confidence: number; // 0 to 1
  warning: string; // why it does not fit as it is, "" if it does
}

export interface Answer {
  entries: Entry[];
  reasoning: string;
  method: string;
  confidence: number;
  alerts: string[];
  leftOut: string[];
}

export function readSuggestions(answer: JsonObject): Answer {
  const odd = new Map(
    objects(answer.incompatible_edges).map((item) => [
      `${textOr(item.source)}\n${textOr(item.target)}`,
      textOr(item.reason),
    ]),
  );
  const added = objects(answer.suggested_edges).map((item): Entry => {
    const [source, target] = [textOr(item.source), textOr(item.target)];
    const wording = objectOr(item.relation_wording);
    return {
      id: textOr(item.id) || `${source}-${target}`,
      what: "add",
      source,
      target,
      type: textOr(item.relation_type, "data-flow"),
      label: textOr(item.relation_label),
      wording,
      confidence: typeof wording.confidence === "number" ? wording.confidence : 0,
      warning: odd.get(`${source}\n${target}`) ?? "",
    };
  });
  const removed = objects(answer.removed_edges).map(
    (item): Entry => ({
      id: `without ${textOr(item.id)}`,
      what: "remove",
      source: textOr(item.source),
      target: textOr(item.target),
      type: "",
      label: "",
      wording: {},
      confidence: 0,
      warning: "",
    }),
  );
  return {
    entries: [...added, ...removed],
    reasoning: textOr(answer.reasoning),
    method: textOr(answer.method),
    confidence: typeof answer.confidence === "number" ? answer.confidence : 0,
    alerts: texts(answer.user_alerts),
    leftOut: objects(answer.rejected_edges).map(
      (item) => `${textOr(item.source)} → ${textOr(item.target)}: ${textOr(item.reason)}`,
    ),
  };
}

// Those that can still be: what was drawn, removed or became impossible meanwhile is not offered, and is again after
// undo. A connection that only an edge stands against which would go waits for that.
export function standing(canvas: Canvas, entries: Entry[]): Entry[] {
  const drawn = new Set(canvas.edges.map((edge) => `${edge.source}\n${edge.target}`));
  const going = entries.filter((one) => one.what === "remove" && drawn.has(`${one.source}\n${one.target}`));
  const without = going.length ? accepted(canvas, going) : canvas;
  return entries.filter((one) =>
    one.what === "remove" ? going.includes(one) : refusal(without, one.source, one.target) === "",
  );
}

// The canvas with these entries: what goes first, then what comes, as far as it can be drawn.
export function accepted(canvas: Canvas, entries: Entry[]): Canvas {
  const gone = new Set(entries.filter((one) => one.what === "remove").map((one) => `${one.source}\n${one.target}`));
  let next = gone.size
    ? { ...canvas, edges: canvas.edges.filter((edge) => !gone.has(`${edge.source}\n${edge.target}`)) }
    : canvas;
  for (const one of entries) {
    if (one.what !== "add" || refusal(next, one.source, one.target)) continue;
    const id = free(one.id, new Set(next.edges.map((edge) => edge.key)));
    const data: JsonObject = { relation_type: one.type, relation_wording: one.wording };
    if (one.label) data.relation_label = one.label;
    const raw = { id, source: one.source, target: one.target, data };
    next = { ...next, edges: [...next.edges, { key: id, raw, source: one.source, target: one.target }] };
  }
  return next;
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
