import { expect, test } from "vitest";
import { fieldOf } from "./activities";
import { readCanvas } from "./document";
import { labelsOf, mappingsOf, mappingText, sampleOf, setMapping } from "./mapping";
import { turnsOf } from "./relationHistory";

const canvas = readCanvas({
  nodes: [
    { id: "scan-1", type: "activity", data: { label: "Scan" } },
    {
      id: "tell",
      type: "activity",
      data: { label: "Tell", config: { a: "${Scan.output.x}", b: "${other.output.x}", c: 1 } },
    },
    { id: "tell-2", type: "activity", data: { label: "Tell" } },
  ],
  edges: [{ id: "e", source: "scan-1", target: "tell" }],
});

test("what a step takes over a connection is found by id and by label", () => {
  const edge = canvas.edges[0];
  if (!edge) throw new Error("no edge");
  expect(mappingsOf(canvas, edge)).toEqual([{ input: "a", text: "${Scan.output.x}" }]);
  const mapped = setMapping(canvas, "tell", "d", "{% $string(`scan-1`.output.n) %}");
  expect(mappingsOf(mapped, edge).map((one) => one.input)).toEqual(["a", "d"]);
  expect(mapped.nodes[0]).toBe(canvas.nodes[0]);
});

test("a value is referred to where it fits, and made to fit where it does not", () => {
  expect(mappingText("a", "path", "string", "string")).toBe("${a.output.path}");
  expect(mappingText("scan-1", "score", "integer", "string")).toBe("{% $string(`scan-1`.output.score) %}");
  expect(mappingText("a", "n", "string", "number")).toBe("{% $number(a.output.n) %}");
  expect(mappingText("a", "one", "string", "array")).toBe("{% [a.output.one] %}");
});

test("samples have the types of the outputs, and only labels of one node are names", () => {
  expect(sampleOf([fieldOf("path", "string"), { ...fieldOf("level", "string"), enum: ["low", "high"] }])).toEqual({
    path: "text",
    level: "low",
  });
  expect(labelsOf(canvas)).toEqual({ Scan: "scan-1" });
});

test("the history of a connection says what each save changed, newest first", () => {
  const first = {
    version: 1,
    workflow_version: 1,
    relation_type: "data-flow",
    relation_label: "",
    relation_wording: {},
  };
  const wording = { condition: "x > 1", confidence: 0.5 };
  const second = { ...first, version: 2, relation_type: "conditional", relation_wording: wording, created_by: "ann" };
  const [newest, oldest] = turnsOf([first, second]);
  expect(newest?.by).toBe("ann");
  expect(newest?.changes).toEqual([
    { what: "type", before: "data-flow", after: "conditional" },
    { what: "condition", before: "", after: "x > 1" },
    { what: "confidence", before: "", after: "0.5" },
  ]);
  expect(oldest?.changes).toEqual([{ what: "type", before: "", after: "data-flow" }]);
});
