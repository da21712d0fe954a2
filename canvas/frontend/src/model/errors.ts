// Edges that are taken when their source failed: `data.on_error` lists the names of errors, "*" for any.
import { connect, setEdgeData, withKey } from "./changes";
import type { Canvas, CanvasEdge } from "./document";
import { objectOr } from "./json";

export const ANY_ERROR = "*";
// The names that the engine itself gives; activities have names of their own beside them.
export const ERROR_NAMES = ["Timeout", "ActivityError", "ValidationError", "ReferenceError", "ExpressionError"];

export function errorsOf(edge: CanvasEdge): string[] {
  const list = { ...edge.raw, ...objectOr(edge.raw.data) }.on_error;
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}

export function spokenErrors(names: string[]): string {
  return names.includes(ANY_ERROR) ? "on any error" : `on ${names.join(", ")}`;
}

// Says on which errors an edge is taken; on none it is an ordinary one again. A condition cannot stand beside them.
export function setErrors(canvas: Canvas, key: string, names: string[]): Canvas {
  const edge = canvas.edges.find((one) => one.key === key);
  if (!edge) return canvas;
  const data = objectOr(edge.raw.data);
  if (!names.length) {
    const rest = withKey(data, "on_error", undefined);
    return setEdgeData(
      canvas,
      key,
      rest.relation_type === "conditional" ? withKey(rest, "relation_type", undefined) : rest,
    );
  }
  return setEdgeData(canvas, key, {
    ...withKey(data, "condition", undefined),
    relation_type: "conditional",
    on_error: names,
  });
}

// An edge from one node to another, taken on any error of the first.
export function connectOnError(canvas: Canvas, source: string, target: string): Canvas {
  const drawn = connect(canvas, source, target);
  const key = drawn.edges.at(-1)?.key;
  return key === undefined ? canvas : setErrors(drawn, key, [ANY_ERROR]);
}

// Lets an edge lead to another node.
export function retarget(canvas: Canvas, key: string, target: string): Canvas {
  const edges = canvas.edges.map((edge) =>
    edge.key === key ? { ...edge, target, raw: { ...edge.raw, target } } : edge,
  );
  return { ...canvas, edges };
}
