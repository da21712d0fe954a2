import { describe, expect, it } from "vitest";
import { readActivities } from "./activities";
import { connect, refusal, splice } from "./changes";
import { acceptors, ends, suits } from "./connecting";
import { readCanvas } from "./document";

const fields = (types: Record<string, string>, required: string[] = []) =>
  Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type, required: required.includes(name) }]));
const activities = readActivities({
  activities: [
    { name: "Clone", inputs: fields({ repo: "string" }, ["repo"]), outputs: fields({ path: "string" }) },
    { name: "Scan", inputs: fields({ path: "string" }, ["path"]), outputs: fields({ risk: "number" }) },
    { name: "Tell", inputs: fields({ text: "string" }, ["text"]), outputs: {} },
    { name: "Sum", inputs: fields({ list: "array" }, ["list"]), outputs: fields({ path: "number" }) },
  ],
});
const activity = (id: string, name: string, config = {}) => ({
  id,
  type: "activity",
  data: { activity: name, config },
});
const canvas = readCanvas({
  nodes: [
    { id: "start", type: "start" },
    activity("clone", "Clone"),
    activity("scan", "Scan"),
    activity("given", "Scan", { path: "/" }),
    activity("tell", "Tell"),
    { id: "note", type: "note" },
    { id: "end", type: "end" },
  ],
  edges: [{ id: "1", source: "start", target: "clone" }],
});

describe("pulling a connection", () => {
  it("may end at what is not refused one by one", () => {
    const drawn = connect(connect(connect(canvas, "clone", "scan"), "scan", "tell"), "tell", "end");
    const keys = drawn.nodes.map((node) => node.key);
    for (const from of keys) {
      const [to, back] = [ends(drawn, from, true), ends(drawn, from, false)].map((found) =>
        found.map((one) => one.key),
      );
      expect(to).toEqual(keys.filter((key) => refusal(drawn, from, key) === ""));
      expect(back).toEqual(keys.filter((key) => refusal(drawn, key, from) === ""));
    }
  });

  it("is taken by what comes after without a circle, best where an open input fits", () => {
    expect([...acceptors(canvas, activities, "clone", true)]).toEqual([
      ["scan", true],
      ["given", false],
      ["tell", false],
      ["end", false],
    ]);
  });

  it("backwards is taken by what may come before", () => {
    const joined = connect(canvas, "scan", "tell");
    expect([...acceptors(joined, activities, "scan", false).keys()]).toEqual(["start", "clone", "given"]);
  });

  it("lists what suits by name, type or description before what suits by type alone", () => {
    const clone = canvas.nodes[1];
    if (!clone) throw new Error("no node");
    const worth = activities.all.map((one) => suits(activities, clone, true, one));
    expect(worth).toEqual([0, 110, 0, 0]);
    const lister = readActivities({
      activities: [
        { name: "ListActivity", inputs: {}, outputs: fields({ items: "array" }) },
        { name: "Sum", inputs: fields({ list: "array" }, ["list"]), outputs: {} },
        { name: "Show", inputs: { it: { type: "object", description: "Output of ListActivity." } }, outputs: {} },
      ],
    });
    const [list] = readCanvas({ nodes: [activity("list", "ListActivity")] }).nodes;
    if (!list) throw new Error("no node");
    expect(lister.all.map((one) => suits(lister, list, true, one))).toEqual([0, 1, 120]);
  });
});

describe("a node in the middle of a connection", () => {
  it("keeps what the connection says on its first half", () => {
    const before = readCanvas({
      nodes: [activity("a", "Clone"), activity("b", "Scan"), activity("c", "Tell")],
      edges: [{ id: "e", source: "a", target: "b", data: { condition: "x" } }],
    });
    const after = splice(before, "e", "c");
    expect(after.edges.map((one) => one.raw)).toEqual([
      { id: "e", source: "a", target: "c", data: { condition: "x" } },
      { id: "c-b", source: "c", target: "b" },
    ]);
  });
});
