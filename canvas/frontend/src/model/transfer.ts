// A canvas as a file: what is written, and what a file that is read turns out to be. Nothing is guessed: what is neither
// a canvas nor a spec is refused with a sentence.
import { type Canvas, readCanvas, writeCanvas } from "./document";
import { isObject, type Json, type JsonObject } from "./json";

export const KIND = "poimen/canvas";
export const MOST_BYTES = 20_000_000;

export function exported(canvas: Canvas): string {
  const { name, description } = canvas;
  return `${JSON.stringify({ kind: KIND, name, description, ...writeCanvas(canvas) }, null, 2)}\n`;
}

// A file name for the workflow: letters and digits of any script, "workflow" where the name has none.
export function fileName(name: string, ending: string): string {
  const stem = name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);
  return `${stem || "workflow"}.${ending}`;
}

export type Imported = { canvas: JsonObject } | { spec: JsonObject } | { fault: string };

// Files of a canvas, of a version as the API answers it, or of a spec, bare or as {"spec": ...}.
export function imported(text: string): Imported {
  let sent: Json;
  try {
    sent = JSON.parse(text) as Json;
  } catch (error) {
    return { fault: `This is no JSON: ${error instanceof Error ? error.message : error}` };
  }
  if (!isObject(sent)) return { fault: "A canvas is a JSON object with nodes and edges; this is something else." };
  if (sent.nodes !== undefined || sent.edges !== undefined) {
    for (const key of ["nodes", "edges"] as const) {
      if (sent[key] !== undefined && !Array.isArray(sent[key])) return { fault: `"${key}" is no array.` };
    }
    return { canvas: sent };
  }
  if (Array.isArray(sent.states)) return { spec: sent };
  if (isObject(sent.spec)) return { spec: sent.spec };
  return { fault: 'There are neither "nodes" and "edges" of a canvas in it nor the "states" of a spec.' };
}

// The canvas with the nodes and edges of another; its name, description and status stay.
export function withContent(canvas: Canvas, content: JsonObject): Canvas {
  const { nodes, edges, odd } = readCanvas(content);
  return { ...canvas, nodes, edges, odd };
}
