// Which ways a run took through the drawing: what a condition skipped, and which edges were taken.
// Owns the inference; what cannot be told from what ran is left open.
import { type Canvas, type CanvasEdge, kindOf } from "./document";
import { objectOr, textOr } from "./json";
import { type Fate, isOpen, isUnwell, silent } from "./run";

export type Way = "taken" | "skipped";

// The fates of nodes that did not run: skipped where all that leads there is settled and went well, else "not run" once
// the run is over. `fates`: of those that ran.
export function withSilent(canvas: Canvas, fates: Map<string, Fate>, isOver: boolean): Map<string, Fate> {
  const all = new Map(fates);
  const into = grouped(canvas.edges, (edge) => edge.target);
  const kinds = new Map(canvas.nodes.map((node) => [node.key, kindOf(node)]));
  const catching = new Set(canvas.edges.filter(isOnError).map((edge) => edge.source));
  const isSettled = (key: string): boolean => {
    if (kinds.get(key) === "start") return true;
    const status = all.get(key)?.status ?? "";
    // A failure that leads somewhere is no end.
    return status === "success" || status === "skipped" || (isUnwell(status) && catching.has(key));
  };
  const steps = canvas.nodes.filter((node) => kinds.get(node.key) === "activity").map((node) => node.key);
  // Each round settles what follows what was settled before; a drawing that can run has no circles.
  for (let isNew = true; isNew; ) {
    isNew = false;
    for (const key of steps) {
      const edges = into.get(key) ?? [];
      if (all.has(key) || !edges.length || !edges.every((edge) => isSettled(edge.source))) continue;
      const isGuarded = (edge: CanvasEdge) => isConditional(edge) || catching.has(edge.source);
      if (!edges.some((edge) => isGuarded(edge) || all.get(edge.source)?.status === "skipped")) continue;
      all.set(key, silent("skipped"));
      isNew = true;
    }
  }
  for (const key of isOver ? steps : []) if (!all.has(key)) all.set(key, silent("not run"));
  return all;
}

// An edge is taken when both its ends ran and its condition, if there is one, is not known to have failed.
export function waysOf(canvas: Canvas, fates: ReadonlyMap<string, Fate>, isOver: boolean): Map<string, Way> {
  const ways = new Map<string, Way>();
  if (!fates.size) return ways;
  const kinds = new Map(canvas.nodes.map((node) => [node.key, kindOf(node)]));
  const into = grouped(canvas.edges, (edge) => edge.target);
  const out = grouped(canvas.edges, (edge) => edge.source);
  const hasRun = (key: string): boolean => {
    const status = fates.get(key)?.status;
    return kinds.get(key) === "start" || (status !== undefined && status !== "skipped" && status !== "not run");
  };
  const isDone = (key: string): boolean => hasRun(key) && !isOpen(fates.get(key)?.status ?? "");
  const isSkipped = (key: string): boolean => fates.get(key)?.status === "skipped";
  const catching = new Set(canvas.edges.filter(isOnError).map((edge) => edge.source));
  const open: CanvasEdge[] = [];
  for (const edge of canvas.edges) {
    const { key, source, target } = edge;
    // Whether the source failed decides between its edges on errors and the others.
    const decided = catching.has(source) && isDone(source);
    const isMeant = isOnError(edge) === isUnwell(fates.get(source)?.status ?? "");
    if (isSkipped(source) || isSkipped(target) || (decided && !isMeant)) ways.set(key, "skipped");
    else if (decided && !isConditional(edge) && (kinds.get(target) === "end" ? isOver : hasRun(target)))
      ways.set(key, "taken");
    else if (kinds.get(target) === "end") {
      if (!isOver || fates.get(source)?.status !== "success") continue;
      if (isConditional(edge)) open.push(edge);
      else ways.set(key, "taken");
    } else if (hasRun(source) && hasRun(target)) {
      const others = (into.get(target) ?? []).filter((one) => one !== edge && hasRun(one.source));
      if (isConditional(edge) && others.some(isConditional)) open.push(edge);
      else if (isDone(source) || kinds.get(source) === "start") ways.set(key, "taken");
    }
  }
  // Where several ways lead to what ran, the ways beside them from the same node tell which it was.
  for (const edge of open) {
    const beside = (out.get(edge.source) ?? []).filter((one) => one !== edge && isConditional(one));
    const isElseTaken = beside.some((one) => isElse(one) && ways.get(one.key) === "taken");
    const isOtherTaken = beside.some((one) => !isElse(one) && ways.get(one.key) === "taken");
    if (isElse(edge) ? isOtherTaken : isElseTaken) ways.set(edge.key, "skipped");
    else if (isElse(edge) ? beside.every((one) => ways.get(one.key) === "skipped") : hasRun(edge.target))
      ways.set(edge.key, "taken");
  }
  return ways;
}

function grouped(edges: CanvasEdge[], keyOf: (edge: CanvasEdge) => string): Map<string, CanvasEdge[]> {
  const groups = new Map<string, CanvasEdge[]>();
  for (const edge of edges) {
    const group = groups.get(keyOf(edge));
    if (group) group.push(edge);
    else groups.set(keyOf(edge), [edge]);
  }
  return groups;
}

function dataOf(edge: CanvasEdge) {
  return { ...edge.raw, ...objectOr(edge.raw.data) };
}

function isConditional(edge: CanvasEdge): boolean {
  return textOr(dataOf(edge).condition).trim() !== "";
}

function isOnError(edge: CanvasEdge): boolean {
  const names = dataOf(edge).on_error;
  return Array.isArray(names) && names.length > 0;
}

function isElse(edge: CanvasEdge): boolean {
  return ["else", "otherwise"].includes(textOr(dataOf(edge).condition).trim().toLowerCase());
}
