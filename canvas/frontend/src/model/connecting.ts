// What goes together: which nodes take a connection, and which activities suit one end of it by their fields.
import { type Activities, type Activity, type Field, fits } from "./activities";
import { type Canvas, type CanvasNode, configOf, isStep, kindOf } from "./document";

// The nodes that a connection from (or, backwards, to) this one may end at, each with whether an input that is still
// open there has an output of its name and type to take.
export function acceptors(
  canvas: Canvas,
  activities: Activities,
  from: string,
  isForwards: boolean,
): Map<string, boolean> {
  const found = new Map<string, boolean>();
  const own = canvas.nodes.find((node) => node.key === from);
  if (!own) return found;
  for (const node of ends(canvas, from, isForwards)) {
    const [source, target] = isForwards ? [own, node] : [node, own];
    found.set(node.key, wanted(activities, source, target) > 0);
  }
  return found;
}

// The nodes that a connection from (or, backwards, to) this one may end at: all at once what `refusal` says of one.
export function ends(canvas: Canvas, from: string, isForwards: boolean): CanvasNode[] {
  const own = canvas.nodes.find((node) => node.key === from);
  if (!own || !isStep(own) || kindOf(own) === (isForwards ? "end" : "start")) return [];
  const next = new Map<string, string[]>();
  const joined = new Set<string>();
  for (const { source, target } of canvas.edges) {
    const [near, far] = isForwards ? [target, source] : [source, target];
    next.set(near, [...(next.get(near) ?? []), far]); // against the direction of the new connection
    if (far === from) joined.add(near);
  }
  const circular = new Set([from]);
  for (const one of circular) for (const other of next.get(one) ?? []) circular.add(other);
  const shut = isForwards ? "start" : "end";
  return canvas.nodes.filter(
    (node) => isStep(node) && kindOf(node) !== shut && !circular.has(node.key) && !joined.has(node.key),
  );
}

function wanted(activities: Activities, source: CanvasNode, target: CanvasNode): number {
  const config = configOf(target);
  const open = activities.inputsOf(target).filter((field) => config[field.name] === undefined);
  return matches(activities.outputsOf(source), open);
}

// How many of the inputs have an output of their name whose type fits; required ones count ten times.
export function matches(outputs: Field[], inputs: Field[]): number {
  const given = new Map(outputs.map((field) => [field.name, field.type]));
  let count = 0;
  for (const input of inputs) {
    const type = given.get(input.name);
    if (type !== undefined && fits(type, input.type)) count += input.required ? 10 : 1;
  }
  return count;
}

// How well an activity suits the end of a connection that was pulled from this node; 0 for not at all. By name and type
// first, and by an input that is described as the output of the other; then one whose required inputs all find a value
// of their type, unless those are nothing but texts, which are anything.
export function suits(activities: Activities, node: CanvasNode, isForwards: boolean, other: Activity): number {
  const outputs = isForwards ? activities.outputsOf(node) : other.outputs;
  const config = configOf(node);
  const open = activities.inputsOf(node).filter((field) => config[field.name] === undefined);
  const inputs = isForwards ? other.inputs : open;
  const giver = (isForwards ? activities.of(node)?.name : other.name) ?? "";
  const meant = giver ? inputs.filter((field) => field.description.includes(giver)).length : 0;
  const named = matches(outputs, inputs) + 20 * meant;
  if (named > 0) return 100 + named;
  const required = inputs.filter((field) => field.required);
  const types = outputs.map((field) => field.type);
  const isTelling = required.some((field) => field.type !== "string" && field.type !== "any");
  const isTyped = isTelling && required.every((field) => types.some((type) => fits(type, field.type)));
  return isTyped && types.length > 0 ? 1 : 0;
}
