import { expect, test } from "vitest";
import { type Field, fieldOf, readActivities } from "./activities";
import { durationFault, momentFault, secondsOf } from "./durations";
import { controlFor, spokenLimits, violation } from "./fields";

function field(type: string, more: Partial<Field> = {}): Field {
  return { ...fieldOf("f", type), ...more };
}

test("the knowledge base's limits, types and places for secrets are read", () => {
  const inputs = {
    status: { type: "integer", types: ["integer", "array"], minimum: 100, maximum: 599 },
    headers: { type: "object", additionalProperties: { type: "string" }, secrets: "value" },
    body: { type: "object", types: ["string", "integer", "number", "boolean", "object", "array"] },
  };
  const [status, headers, body] = readActivities({ activities: [{ name: "A", inputs }] }).all[0]?.inputs ?? [];
  expect(status).toMatchObject({ types: ["integer", "array"], minimum: 100, maximum: 599 });
  expect(headers).toMatchObject({ secrets: "value", values: { type: "string" } });
  expect(body?.type).toBe("any");
});

test("each type has its control, and a value that one cannot show is JSON", () => {
  const list = field("array", { items: { type: "string" } });
  const table = field("object", { values: { type: "string" } });
  expect(controlFor(field("boolean"), true)).toBe("choice");
  expect(controlFor(field("string", { enum: ["a"] }), "b")).toBe("choice");
  expect(controlFor(field("any"), undefined)).toBe("any");
  expect(controlFor(field("integer", { types: ["integer", "array"] }), 1)).toBe("json");
  expect(controlFor(list, ["a"])).toBe("list");
  expect(controlFor(list, ["a", 1])).toBe("json");
  expect(controlFor(list, "${a.output.list}")).toBe("list");
  expect(controlFor(table, { a: "b" })).toBe("rows");
  expect(controlFor(table, { a: { b: 1 } })).toBe("json");
  expect(controlFor(field("string"), { odd: 1 })).toBe("json");
});

test("limits are said, and what breaks them is told", () => {
  const depth = field("integer", { minimum: 1, maximum: 5 });
  expect(spokenLimits(depth)).toBe("1 to 5");
  expect(violation(depth, 3)).toBe("");
  expect(violation(depth, 6)).toBe("Expected a whole number, 1 to 5.");
  expect(violation(depth, 2.5)).toBe("Expected a whole number, 1 to 5.");
  expect(violation(depth, "many")).toBe("Expected a whole number, 1 to 5.");
  expect(violation(depth, "${a.output.depth}")).toBe("");
  expect(violation(field("number", { exclusiveMinimum: 0 }), 0)).toBe("Expected a number, more than 0.");
  expect(violation(field("number", { multipleOf: 0.1 }), 0.3)).toBe("");
  expect(violation(field("string", { maxLength: 3 }), "four")).toBe("At most 3 characters; these are 4.");
  expect(violation(field("string", { maxLength: 3 }), "👍👍👍")).toBe("");
  expect(violation(field("string", { pattern: "^a+$" }), "b")).toBe("Expected text as ^a+$.");
  expect(violation(field("string", { pattern: "(" }), "b")).toBe("");
  expect(violation(field("array", { minItems: 1, maxItems: 2 }), [])).toBe("Expected 1 to 2 elements; there are 0.");
  expect(violation(field("string", { enum: ["a", "b"] }), "c")).toBe("Expected one of a, b.");
});

test("durations and moments are checked as the server reads them", () => {
  expect(secondsOf("1h30m")).toBe(5400);
  expect(secondsOf("500ms")).toBe(0.5);
  expect(durationFault("90")).toContain("no duration");
  expect(durationFault("0s")).toContain("longer than nothing");
  expect(durationFault("25h", 86_400)).toBe("At most 24h.");
  expect(durationFault("${workflow.input.wait}")).toBe("");
  expect(momentFault("2030-01-31T08:00:00Z")).toBe("");
  expect(momentFault("tomorrow")).toContain("no moment");
});
