// What the server found wrong: by node, by edge, and as a list.
import { isObject, type Json, type JsonObject, textOr } from "./json";
import { type Change, readChanges } from "./patch";

export interface Problem {
  severity: "error" | "warning";
  code: string;
  message: string;
  suggestion: string;
  node: string; // key; "" if it is about no node
  edge: string;
  parameter: string;
  nodes: string[]; // of a circle
  fix: Fix | null;
}

export interface Fix {
  label: string;
  changes: Change[];
}

export function readProblems(report: JsonObject): Problem[] {
  return [...read(report.errors, "error"), ...read(report.warnings, "warning")];
}

function read(list: unknown, severity: Problem["severity"]): Problem[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).map((item) => ({
    severity,
    code: textOr(item.code),
    message: textOr(item.message),
    suggestion: textOr(item.suggestion),
    node: textOr(item.nodeId),
    edge: textOr(item.edgeId),
    parameter: textOr(item.parameter),
    nodes: Array.isArray(item.nodeIds) ? item.nodeIds.map(String) : [],
    fix: readFix(item.fix),
  }));
}

function readFix(sent: Json | undefined): Fix | null {
  if (!isObject(sent)) return null;
  const fix = { label: textOr(sent.label), changes: readChanges(sent.changes) };
  return fix.label && fix.changes.length ? fix : null;
}

export type Marks = ReadonlyMap<string, Problem[]>;

export function marksOf(problems: Problem[], at: "node" | "edge"): Marks {
  const marks = new Map<string, Problem[]>();
  for (const problem of problems) {
    const keys = at === "node" ? new Set([problem.node, ...problem.nodes]) : new Set([problem.edge]);
    for (const key of keys) if (key) marks.set(key, [...(marks.get(key) ?? []), problem]);
  }
  return marks;
}

// Of what is wrong with these nodes the first error, else the first of all.
export function worstOf(keys: string[], marks: Marks): Problem | undefined {
  const all = keys.flatMap((key) => marks.get(key) ?? []);
  return all.find((problem) => problem.severity === "error") ?? all[0];
}
