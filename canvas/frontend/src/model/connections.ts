// What the server says of connections: which do not carry what their target needs, as problems at their edges.
import type { Canvas } from "./document";
import { isObject, type JsonObject, textOr } from "./json";
import type { Problem } from "./problems";

export const INCOMPATIBLE = "incompatible";

// A warning for each connection that does not fit. What is missing at its target already is `repeated`: that is told
// at the node, and need not stand in the list twice.
export function connectionProblems(
  answer: JsonObject,
  canvas: Canvas,
  known: Problem[],
): { listed: Problem[]; repeated: Problem[] } {
  const list = Array.isArray(answer.incompatibilities) ? answer.incompatibilities.filter(isObject) : [];
  const missing = new Set(
    known.filter((one) => one.code === "missing-parameter").map((one) => `${one.node}\n${one.parameter}`),
  );
  const edges = new Map(canvas.edges.map((edge) => [`${edge.source}\n${edge.target}`, edge.key]));
  const [listed, repeated]: [Problem[], Problem[]] = [[], []];
  for (const item of list) {
    const edge = edges.get(`${textOr(item.source)}\n${textOr(item.target)}`);
    if (!edge) continue;
    const parameter = textOr(item.input);
    const problem: Problem = {
      severity: "warning",
      code: INCOMPATIBLE,
      message: textOr(item.reason),
      suggestion: textOr(item.suggestion),
      node: "",
      edge,
      parameter,
      nodes: [],
      fix: null,
    };
    (missing.has(`${textOr(item.target)}\n${parameter}`) ? repeated : listed).push(problem);
  }
  return { listed, repeated };
}
