// Two canvases drawn as one: the later one, with what is gone as ghosts where it was. Owns where that is; marks nothing.

import { withKey } from "./changes";
import type { Difference } from "./differences";
import { type Canvas, type CanvasNode, dataOf, kindOf, type Point, placeOf } from "./document";

export type How = Difference["how"];

export interface Comparison {
  canvas: Canvas; // groups are open in it, so that every member is seen
  places: ReadonlyMap<string, Point>;
  nodes: ReadonlyMap<string, How>;
  edges: ReadonlyMap<string, How>;
}

export function comparison(before: Canvas | null, after: Canvas, list: Difference[]): Comparison {
  const there = new Set(after.nodes.map((node) => node.key));
  const drawn = new Set(after.edges.map((edge) => edge.key));
  const ghosts = (before?.nodes ?? []).filter((node) => !there.has(node.key));
  const gone = (before?.edges ?? []).filter((edge) => !drawn.has(edge.key));
  const places = new Map<string, Point>();
  before?.nodes.forEach((node, index) => {
    if (!there.has(node.key)) places.set(node.key, placeOf(node, index));
  });
  after.nodes.forEach((node, index) => {
    places.set(node.key, placeOf(node, index));
  });
  const marks = (what: Difference["what"]) =>
    new Map(list.filter((one) => one.what === what).map((one): [string, How] => [one.key, one.how]));
  const nodes = [...after.nodes, ...ghosts].map(opened);
  const canvas = { ...after, nodes, edges: [...after.edges, ...gone] };
  return { canvas, places, nodes: marks("node"), edges: marks("edge") };
}

function opened(node: CanvasNode): CanvasNode {
  if (kindOf(node) !== "group" || !dataOf(node).collapsed) return node;
  return { ...node, raw: { ...node.raw, data: withKey(dataOf(node), "collapsed", undefined) } };
}
