import { describe, expect, it } from "vitest";
import { comboOf } from "../behaviours/keyboard";
import { marksOf, readProblems, worstOf } from "./problems";
import { tally } from "./tally";

describe("what a collapsed group sums up", () => {
  it("is how many members are in which state, what wants a look first", () => {
    const fates = new Map(
      Object.entries({ a: "success", b: "running", c: "success", d: "failed", other: "failed" }).map(
        ([key, status]) => [key, { status }],
      ),
    );
    expect(tally(["a", "b", "c", "d", "silent"], fates)).toEqual([
      ["failed", 1],
      ["running", 1],
      ["success", 2],
    ]);
  });

  it("is the first error of its members, else the first warning", () => {
    const problems = readProblems({
      errors: [{ code: "e", message: "wrong", nodeId: "b" }],
      warnings: [{ code: "w", message: "odd", nodeId: "a" }],
    });
    const marks = marksOf(problems, "node");
    expect(worstOf(["a", "b"], marks)?.code).toBe("e");
    expect(worstOf(["a"], marks)?.code).toBe("w");
    expect(worstOf([], marks)).toBeUndefined();
  });
});

describe("a key", () => {
  const press = (key: string, more = {}) =>
    comboOf({ key, code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

  it("is named the same on every keyboard", () => {
    expect(press("G", { ctrlKey: true, shiftKey: true })).toBe("mod+shift+g");
    expect(press("g", { metaKey: true })).toBe("mod+g");
    expect(press("+", { shiftKey: true })).toBe("+");
    expect(press("Ç", { code: "KeyC", altKey: true, shiftKey: true })).toBe("alt+shift+c");
    expect(press("F10", { shiftKey: true })).toBe("shift+f10");
    expect(press("ArrowLeft", { altKey: true })).toBe("alt+arrowleft");
  });
});
