import { expect, test } from "vitest";
import { readCanvas } from "./document";
import { accepted, readSuggestions, standing } from "./suggestions";

const canvas = readCanvas({
  nodes: [
    { id: "a", type: "clone-repo" },
    { id: "b", type: "security-scan" },
    { id: "c", type: "echo" },
  ],
  edges: [{ id: "bc", source: "b", target: "c" }],
});
const answer = readSuggestions({
  suggested_edges: [
    {
      id: "bc",
      source: "a",
      target: "b",
      relation_type: "data-flow",
      relation_label: "path",
      relation_wording: { verb: "outputs", confidence: 0.9 },
    },
    { id: "cb", source: "c", target: "b", relation_wording: {} },
    { id: "zb", source: "z", target: "b" },
  ],
  removed_edges: [{ id: "bc", source: "b", target: "c" }],
  incompatible_edges: [{ source: "a", target: "b", reason: "types" }],
  rejected_edges: [{ source: "x", target: "y", reason: "nowhere" }],
  reasoning: "why",
  method: "model",
  user_alerts: ["look", 7],
});

test("an answer is read with its wording, doubts and what was left out", () => {
  expect(answer.entries.map((one) => [one.what, one.source, one.target, one.confidence, one.warning])).toEqual([
    ["add", "a", "b", 0.9, "types"],
    ["add", "c", "b", 0, ""],
    ["add", "z", "b", 0, ""],
    ["remove", "b", "c", 0, ""],
  ]);
  expect([answer.alerts, answer.leftOut]).toEqual([["look"], ["x → y: nowhere"]]);
});

test("what cannot be drawn does not stand, unless what stands against it would go", () => {
  expect(standing(canvas, answer.entries).map((one) => one.id)).toEqual(["bc", "cb", "without bc"]);
  const kept = answer.entries.filter((one) => one.what === "add");
  expect(standing(canvas, kept).map((one) => one.id)).toEqual(["bc"]);
});

test("what is accepted is an edge with its meaning, an id of its own, and nothing else changes", () => {
  const next = accepted(canvas, answer.entries.slice(0, 1));
  expect(next.edges).toHaveLength(2);
  expect(next.edges[0]).toBe(canvas.edges[0]);
  expect(next.nodes).toBe(canvas.nodes);
  expect(next.edges[1]?.raw).toEqual({
    id: "bc-2",
    source: "a",
    target: "b",
    data: {
      relation_type: "data-flow",
      relation_label: "path",
      relation_wording: { verb: "outputs", confidence: 0.9 },
    },
  });
  expect(standing(next, answer.entries).map((one) => one.id)).toEqual(["cb", "without bc"]);
});

test("all together: what goes makes room for what comes, and circles are never drawn", () => {
  const next = accepted(canvas, standing(canvas, answer.entries));
  expect(next.edges.map((edge) => `${edge.source} ${edge.target}`)).toEqual(["a b", "c b"]);
});
