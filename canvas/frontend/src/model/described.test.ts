import { expect, test } from "vitest";
import { putBeside, putInstead, readUnderstood } from "./described";
import { readCanvas } from "./document";

const answer = readUnderstood({
  isCron: true,
  cronSpec: { schedule: "0 7 * * *", timezone: "Europe/Berlin" },
  source: "fallback",
  reason: "No model",
  explanation: [{ subject: "Clone", text: "because" }],
  questions: [{ parameter: "repo", text: "Which?", options: ["a", 7] }],
  warnings: ["look"],
  canvas: {
    nodes: [
      {
        id: "start",
        type: "start",
        position: { x: 0, y: 0 },
        data: { label: "Start", config: { repo: "new", branch: "b" } },
      },
      {
        id: "Clone",
        type: "activity",
        position: { x: 260, y: 0 },
        data: { label: "Clone", activity: "CloneRepoActivity", config: {} },
      },
      {
        id: "Scan",
        type: "activity",
        position: { x: 520, y: 0 },
        data: { label: "Scan", activity: "x", config: { path: "${Clone.output.path}" } },
      },
      { id: "end", type: "end", position: { x: 780, y: 0 }, data: { label: "End" } },
    ],
    edges: [
      { id: "1", source: "start", target: "Clone" },
      { id: "2", source: "Clone", target: "Scan" },
      { id: "3", source: "Scan", target: "end" },
    ],
    leftOut: ["no loops"],
  },
});
const drawing = answer.drawing ?? readCanvas({});
const canvas = readCanvas({
  name: "mine",
  nodes: [
    { id: "begin", type: "start", position: { x: 40, y: 100 }, data: { config: { repo: "old" } } },
    { id: "Clone", type: "echo", position: { x: 300, y: 100 } },
  ],
  edges: [],
});

test("an answer is read with questions, warnings and its schedule", () => {
  expect(answer).toMatchObject({ source: "fallback", schedule: { cron: "0 7 * * *", zone: "Europe/Berlin" } });
  expect(answer.questions).toEqual([{ parameter: "repo", text: "Which?", options: ["a"] }]);
  expect(answer.warnings).toEqual(["look", "no loops"]);
  expect(readUnderstood({}).drawing).toBeNull();
});

test("instead of what is there it is the drawing, under the name that the workflow has", () => {
  const put = putInstead(canvas, drawing);
  expect([put.name, put.nodes.length, put.edges.length]).toEqual(["mine", 4, 3]);
});

test("beside what is there it has ids of its own, and the start that there is", () => {
  const put = putBeside(canvas, drawing);
  expect(put.nodes.map((node) => node.key)).toEqual(["begin", "Clone", "Clone-2", "Scan", "end"]);
  expect(put.nodes[1]).toBe(canvas.nodes[1]);
  expect(put.nodes[0]?.raw.data).toEqual({ config: { repo: "old", branch: "b" } });
  expect(put.nodes[3]?.raw.data).toMatchObject({ config: { path: "${Clone-2.output.path}" } });
  expect(put.edges.map((edge) => `${edge.source} ${edge.target}`)).toEqual([
    "begin Clone-2",
    "Clone-2 Scan",
    "Scan end",
  ]);
  expect(put.edges.every((edge) => edge.raw.source === edge.source)).toBe(true);
  const heights = put.nodes.slice(2).map((node) => (node.raw.position as { y: number }).y);
  expect(Math.min(...heights)).toBeGreaterThan(168);
});
