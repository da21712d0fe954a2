import { expect, test } from "vitest";
import { isReference, LONGEST_SHOWN, placeIn, preview, readText, spokenFault, textOf, weightOf } from "./jsonText";

test("a text means its JSON, a reference itself, and nothing nothing", () => {
  expect(readText('{"a": [1]}').value).toEqual({ a: [1] });
  expect(readText("${a.output.list}").value).toBe("${a.output.list}");
  expect(readText("{% 1 + 1 %}").value).toBe("{% 1 + 1 %}");
  expect(readText("  ")).toEqual({ value: undefined, fault: null });
  expect(textOf("${a.output}")).toBe("${a.output}");
  expect(textOf("plain")).toBe('"plain"');
  expect(isReference("a ${b.output}")).toBe(true);
});

test("a fault is told with its line and column where the parser says it", () => {
  const text = '{\n  "a": 1,\n}';
  const { fault } = readText(text);
  expect(fault && spokenFault(fault, text)).toMatch(/^Line 3, column 1: .*\.$/);
  expect(placeIn("ab\ncd", 4)).toEqual({ line: 2, column: 2 });
  expect(readText('{"a":').fault).toMatchObject({ at: 5 });
  const odd = readText("x y").fault;
  expect(odd?.message).not.toContain("is not valid JSON");
});

test("a large value is weighed without being written, and only its beginning is shown", () => {
  const large = { text: "x".repeat(1_000_000), list: Array.from({ length: 1000 }, (_, index) => ({ index })) };
  expect(weightOf(large)).toBeGreaterThan(LONGEST_SHOWN);
  expect(weightOf({ a: [1, "two"] })).toBeLessThan(50);
  expect(preview(large).length).toBeLessThanOrEqual(2_000);
  let deep: unknown = 1;
  for (let level = 0; level < 5_000; level += 1) deep = [deep];
  expect(preview(deep as never)).toContain("…");
});
