import { expect, test } from "vitest";
import { type Activities, inputNames, readActivities, readables } from "./activities";
import { readCanvas } from "./document";
import { connectOnError, setErrors, spokenErrors } from "./errors";
import type { JsonObject } from "./json";
import { certainBefore, failedBefore } from "./order";

function drawn(...edges: [string, string, string?][]) {
  const names = new Set(edges.flatMap((edge) => edge.slice(0, 2)) as string[]);
  const nodes = [...names].map(
    (id): JsonObject => ({ id, type: id === "start" ? "start" : "activity", data: { activity: "Give" } }),
  );
  const lines = edges.map(
    ([source, target, condition]): JsonObject => ({
      id: `${source}${target}`,
      source,
      target,
      data: condition ? { condition } : {},
    }),
  );
  return readCanvas({ nodes, edges: lines });
}

test("what lies before is listed nearest first; what lies beside is not", () => {
  const canvas = drawn(["start", "a"], ["a", "b"], ["a", "c"], ["b", "d"]);
  expect(certainBefore(canvas, "d")).toEqual(["b", "a"]);
  expect(certainBefore(canvas, "c")).toEqual(["a"]);
});

test("a join of branches without conditions may read all of them", () => {
  const canvas = drawn(["a", "b"], ["a", "c"], ["b", "d"], ["c", "d"]);
  expect(certainBefore(canvas, "d").sort()).toEqual(["a", "b", "c"]);
});

test("what a condition may skip is certain only for what runs because of it", () => {
  const canvas = drawn(["a", "b", "x > 1"], ["a", "c", "else"], ["b", "d"], ["c", "d"], ["b", "inside"]);
  expect(certainBefore(canvas, "d")).toEqual(["a"]);
  expect(certainBefore(canvas, "inside")).toEqual(["b", "a"]);
});

test("a circle and a node that is not there end the search", () => {
  const canvas = readCanvas({
    nodes: [{ id: "a" }, { id: "b" }],
    edges: [
      { source: "a", target: "b" },
      { source: "b", target: "a" },
      { source: "gone", target: "a" },
    ],
  });
  expect(certainBefore(canvas, "a")).toContain("b");
  expect(certainBefore(canvas, "nobody")).toEqual([]);
});

const KNOWN: Activities = readActivities({
  activities: [
    { name: "GiveActivity", outputs: { path: { type: "string" }, count: { type: "integer" } } },
    { name: "Hidden", internal: true },
  ],
});

test("the picker lists outputs that are certain, with types, and the inputs of the run", () => {
  const canvas = readCanvas({
    nodes: [
      { id: "start", type: "start", data: { config: { repo: "x" } } },
      { id: "a", type: "activity", data: { label: "First", activity: "give" } },
      { id: "b", type: "activity", data: { config: { text: "${workflow.input.who}" } } },
    ],
    edges: [
      { source: "start", target: "a" },
      { source: "a", target: "b" },
    ],
  });
  const found = readables(canvas, KNOWN, "b", "number");
  expect(found.map((one) => [one.text, one.node, one.fits])).toEqual([
    ["${a.output.path}", "First", false],
    ["${a.output.count}", "First", true],
    ["${a.output}", "First", false],
    ["${workflow.input.repo}", "", true],
    ["${workflow.input.who}", "", true],
  ]);
  expect(inputNames(canvas)).toEqual(["repo", "who"]);
  expect(KNOWN.all).toHaveLength(1);
});

test("behind an edge taken on errors the failed step is certain to have failed, and gives nothing", () => {
  const canvas = drawn(["a", "try"], ["try", "fine"], ["try", "mend"], ["fine", "after"], ["mend", "after"]);
  const failing = connectOnError(
    { ...canvas, edges: canvas.edges.filter((edge) => edge.key !== "trymend") },
    "try",
    "mend",
  );
  expect(certainBefore(failing, "fine")).toEqual(["try", "a"]);
  expect(certainBefore(failing, "mend")).toEqual(["a"]);
  expect(certainBefore(failing, "after")).toEqual(["a"]);
  expect(failedBefore(failing, "mend")).toEqual(["try"]);
  expect(failedBefore(failing, "after")).toEqual([]);
  const texts = readables(failing, readActivities({}), "mend", "string").map((one) => one.text);
  expect(texts).toContain("${try.error.message}");
});

test("an edge is taken on errors or not, and keeps what else is said of it", () => {
  const canvas = drawn(["a", "b", "x > 1"]);
  const caught = setErrors(canvas, "ab", ["Timeout"]);
  expect(caught.edges[0]?.raw.data).toEqual({ relation_type: "conditional", on_error: ["Timeout"] });
  expect(setErrors(caught, "ab", []).edges[0]?.raw.data).toEqual({});
  expect(spokenErrors(["*"])).toBe("on any error");
});
