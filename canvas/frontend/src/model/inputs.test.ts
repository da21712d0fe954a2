import { expect, test } from "vitest";
import { readCanvas } from "./document";
import { given, type Input, inputsOf, meant, typed } from "./inputs";

const canvas = readCanvas({
  nodes: [
    { id: "s", type: "start", data: { config: { repo: "x", depth: 3, deep: true, options: { a: 1 }, list: [] } } },
    { id: "a", data: { config: { value: "${workflow.input.apiToken}" } } },
  ],
});
const inputs = inputsOf(canvas, ["extra"]);
function called(name: string): Input {
  const found = inputs.find((input) => input.name === name);
  if (!found) throw new Error(`no input ${name}`);
  return found;
}

test("the inputs are those declared, read and missing, with the type of their default", () => {
  expect(inputs.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
    ["repo", "text", false],
    ["depth", "number", false],
    ["deep", "boolean", false],
    ["options", "object", false],
    ["list", "array", false],
    ["apiToken", "any", true],
    ["extra", "any", true],
  ]);
  expect(called("apiToken").isSecret).toBe(true);
});

test("what is typed is read by its type, and what does not fit is told by name", () => {
  const { values, faults } = given(inputs, { repo: "42", depth: "many", options: "[1]", extra: "[1, 2]", deep: "" });
  expect(values).toEqual({ repo: "42", extra: [1, 2] });
  expect(Object.keys(faults)).toEqual(["depth", "options", "apiToken"]);
  expect(() => meant(called("extra"), "{oops")).toThrow("This is no JSON");
  expect(meant(called("extra"), "just text")).toBe("just text");
});

test("what was given last is typed so that it reads back as the same", () => {
  for (const value of ["", "42", "true", "text", "{not json", 42, { a: [1] }, null]) {
    expect(meant(called("extra"), typed(called("extra"), value))).toEqual(value);
  }
  for (const value of ["", "42", "{"]) expect(meant(called("repo"), typed(called("repo"), value))).toBe(value);
});
