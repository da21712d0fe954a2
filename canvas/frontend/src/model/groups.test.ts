import { describe, expect, it } from "vitest";
import { move } from "./changes";
import { copied, pasted } from "./clipboard";
import { type Canvas, dataOf, placeOf, readCanvas, SIZE } from "./document";
import { bundled, carried, collapse, frames, group, groupOf, hidden, join, removeWhole, ungroup } from "./groups";

const node = (id: string, x: number, data = {}) => ({ id, type: "activity", position: { x, y: 0 }, data });
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });
const canvas = readCanvas({
  nodes: [node("a", 0), node("b", 300), node("c", 600), node("d", 900)],
  edges: [edge("a", "b"), edge("a", "c"), edge("b", "c"), edge("c", "d"), edge("b", "d")],
});
const grouped = group(canvas, new Set(["b", "c"]), "Middle").canvas;
const groupsIn = (now: Canvas) => now.nodes.map((one) => `${one.key}:${groupOf(one)}`).join(" ");

describe("a group", () => {
  it("takes in what is chosen, and is undone into what was", () => {
    expect(groupsIn(grouped)).toBe("group: a: b:group c:group d:");
    const back = ungroup(grouped, new Set(["group"]));
    expect(back.nodes).toEqual(canvas.nodes);
    expect(back.edges).toEqual(canvas.edges);
  });

  it("is drawn around its members and moves with them", () => {
    const box = frames(grouped).get("group");
    expect(box).toEqual({ x: 276, y: -56, width: 300 + SIZE.width + 48, height: SIZE.height + 48 + 32 });
    const moved = move(grouped, carried(grouped, new Map([["group", { x: 286, y: -36 }]])));
    expect(moved.nodes.map((one) => placeOf(one).x)).toEqual([286, 0, 310, 610, 900]);
    expect(frames(moved).get("group")?.y).toBe(-36);
  });

  it("that moves together with a member of its own choice moves that one once", () => {
    const places = carried(
      grouped,
      new Map([
        ["group", { x: 286, y: -56 }],
        ["b", { x: 310, y: 0 }],
      ]),
    );
    expect(places.get("b")).toEqual({ x: 310, y: 0 });
    expect(places.get("c")).toEqual({ x: 610, y: 0 });
  });

  it("stands for its members when it is collapsed, with several connections as one", () => {
    const closed = collapse(grouped, "group", true);
    const lines = bundled(closed.edges, hidden(closed));
    expect(lines.map((line) => [line.source, line.target, line.edges.length])).toEqual([
      ["a", "group", 2],
      ["group", "d", 2],
    ]);
    expect(frames(closed).get("group")).toEqual({ x: 300, y: 0, ...SIZE });
    expect(collapse(closed, "group", false).nodes).toEqual(grouped.nodes);
  });

  it("goes with its last member, and takes its members along when it is removed itself", () => {
    expect(groupsIn(join(grouped, new Set(["b", "c"]), ""))).toBe("a: b: c: d:");
    expect(groupsIn(removeWhole(grouped, new Set(["b", "c"]), new Set()))).toBe("a: d:");
    expect(groupsIn(removeWhole(grouped, new Set(["group"]), new Set()))).toBe("a: d:");
  });

  it("is copied with its members, which belong to the copy", () => {
    const text = copied(grouped, new Set(["group"]));
    const copy = pasted(grouped, text, { x: 0, y: 0 });
    expect(copy?.nodes.map((one) => [one.key, dataOf(one).group])).toEqual([
      ["group-2", undefined],
      ["b-2", "group-2"],
      ["c-2", "group-2"],
    ]);
    expect(copy?.edges.map((one) => one.key)).toEqual(["b-2-c-2"]);
    expect(pasted(canvas, copied(grouped, new Set(["b"])), { x: 0, y: 0 })?.nodes.map(groupOf)).toEqual([""]);
  });

  it("that is named and not there is none", () => {
    const lost = readCanvas({ nodes: [node("a", 0, { group: "gone" }), node("b", 1, { group: 7 })], edges: [] });
    expect([frames(lost).size, hidden(lost).size]).toEqual([0, 0]);
  });
});
