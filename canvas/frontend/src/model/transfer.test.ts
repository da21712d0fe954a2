import { describe, expect, it } from "vitest";
import { readCanvas, writeCanvas } from "./document";
import { exported, fileName, imported, withContent } from "./transfer";

describe("a canvas as a file", () => {
  const canvas = readCanvas({ name: "A", nodes: [{ id: "a", odd: { key: 1 } }, 7], edges: [{ id: "e", source: "a" }] });

  it("comes back as it was, odd elements too, under the name of the canvas it is read into", () => {
    const read = imported(exported(canvas));
    if (!("canvas" in read)) throw new Error("no canvas");
    const back = withContent(readCanvas({ name: "B", nodes: [{ id: "old" }] }), read.canvas);
    expect(writeCanvas(back)).toEqual(writeCanvas(canvas));
    expect(back.name).toBe("B");
  });

  it("is told from a spec, bare or in an answer", () => {
    const spec = { name: "x", states: [] };
    expect(imported(JSON.stringify(spec))).toEqual({ spec });
    expect(imported(JSON.stringify({ spec }))).toEqual({ spec });
  });

  it.each([
    ["rubbish", "no JSON"],
    ["[]", "JSON object"],
    ["{}", "neither"],
    ['{"nodes": {}}', '"nodes" is no array'],
    ['{"spec": 1}', "neither"],
  ])("is refused when it is %s", (text, said) => {
    const read = imported(text);
    expect("fault" in read && read.fault).toContain(said);
  });

  it("has a name that every system takes", () => {
    expect(fileName("Prüfung: a/b\\..", "json")).toBe("prüfung-a-b.json");
    expect(fileName("///", "png")).toBe("workflow.png");
  });
});
