import { expect, test } from "vitest";
import { connectionProblems } from "./connections";
import { readCanvas } from "./document";
import { readProblems } from "./problems";

const canvas = readCanvas({
  nodes: [{ id: "a" }, { id: "b" }],
  edges: [{ id: "ab", source: "a", target: "b" }],
});
const wrong = { source: "a", target: "b", reason: "no", suggestion: "do", input: "path" };

test("what does not fit is a warning at its edge", () => {
  const { listed, repeated } = connectionProblems(
    { incompatibilities: [wrong, { ...wrong, source: "x" }] },
    canvas,
    [],
  );
  expect(listed).toMatchObject([{ severity: "warning", edge: "ab", message: "no", suggestion: "do", fix: null }]);
  expect(repeated).toEqual([]);
});

test("what is missing at the target is not listed a second time", () => {
  const known = readProblems({ errors: [{ code: "missing-parameter", nodeId: "b", parameter: "path", message: "" }] });
  const { listed, repeated } = connectionProblems({ incompatibilities: [wrong] }, canvas, known);
  expect([listed.length, repeated.length]).toEqual([0, 1]);
});

test("an answer that is none says nothing", () => {
  expect(connectionProblems({ incompatibilities: 7 }, canvas, [])).toEqual({ listed: [], repeated: [] });
});
