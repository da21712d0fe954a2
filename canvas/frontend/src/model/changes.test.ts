import { describe, expect, test } from "vitest";
import { add, after, connect, idFor, move, newNode, refusal, remove, setNodeKey } from "./changes";
import { readCanvas, writeCanvas } from "./document";

const chain = readCanvas({
  name: "chain",
  nodes: [
    { id: "start", type: "start" },
    { id: "a", type: "activity", data: { activity: "EchoActivity" } },
    { id: "b", type: "activity", data: { activity: "EchoActivity" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { id: "1", source: "start", target: "a" },
    { id: "2", source: "a", target: "b" },
    { id: "3", source: "b", target: "end" },
  ],
});

describe("connecting", () => {
  test.each([
    ["a", "a", "itself"],
    ["b", "a", "circle"],
    ["a", "b", "already"],
    ["a", "start", "into a start"],
    ["end", "a", "out of an end"],
    ["a", "gone", "not there"],
  ])("%s to %s is refused", (source, target, why) => {
    expect(refusal(chain, source, target)).toContain(why);
  });

  test("what is allowed becomes an edge of its own id", () => {
    expect(refusal(chain, "start", "b")).toBe("");
    const made = connect(chain, "start", "b");
    expect(made.edges.at(-1)?.raw).toEqual({ id: "start-b", source: "start", target: "b" });
    expect(chain.edges).toHaveLength(3);
  });

  test("a circle that is drawn already ends no search", () => {
    const circle = readCanvas({
      nodes: [{ id: "a" }, { id: "b" }],
      edges: [
        { source: "a", target: "b" },
        { source: "b", target: "a" },
      ],
    });
    expect([...after(circle, "a")]).toEqual(["a", "b"]);
  });
});

test("a removed node takes its edges with it", () => {
  const left = remove(chain, new Set(["b"]), new Set());
  expect(left.nodes.map((node) => node.key)).toEqual(["start", "a", "end"]);
  expect(left.edges.map((edge) => edge.key)).toEqual(["1"]);
});

test("moving keeps what else the position holds, and every other node as it is", () => {
  const canvas = readCanvas({ nodes: [{ id: "a", position: { x: 1, y: 2, pinned: true } }, { id: "b" }] });
  const moved = move(canvas, new Map([["a", { x: 10.4, y: 20.6 }]]));
  expect(moved.nodes[0]?.raw.position).toEqual({ x: 10, y: 21, pinned: true });
  expect(moved.nodes[1]).toBe(canvas.nodes[1]);
});

test("a new node has an id that can be read in a reference, and a free one", () => {
  expect(idFor(chain, "LLMBatchInferenceActivity")).toBe("llm-batch-inference");
  const one = newNode(chain, { kind: "activity", name: "CloneRepoActivity", label: "Clone repo" }, { x: 0.4, y: 9 });
  expect(one.raw).toEqual({
    id: "clone-repo",
    type: "activity",
    position: { x: 0, y: 9 },
    data: { label: "Clone repo", activity: "CloneRepoActivity", config: {} },
  });
  expect(idFor(add(chain, [one]), "CloneRepoActivity")).toBe("clone-repo-2");
});

test("a key of the data that is set and taken away leaves the rest", () => {
  const set = setNodeKey(chain, "a", "timeout", "5m");
  expect(set.nodes[1]?.raw.data).toEqual({ activity: "EchoActivity", timeout: "5m" });
  expect(setNodeKey(set, "a", "timeout", undefined).nodes[1]?.raw.data).toEqual({ activity: "EchoActivity" });
});

test("what is sent is given back as it was, whatever it is", () => {
  const nodes = [
    { id: "a", type: "activity", extra: [1], data: { activity: "X", own: { deep: null } } },
    { id: "a", type: 7 },
    { position: "here" },
    "no object",
    null,
  ];
  const edges = [{ source: "a", target: 5 }, 3, { id: "", source: "gone", target: "a", style: {} }];
  const canvas = readCanvas({ nodes, edges });
  expect(new Set(canvas.nodes.map((node) => node.key)).size).toBe(3);
  const written = writeCanvas(canvas);
  expect(written.nodes).toEqual([nodes[0], nodes[1], nodes[2], nodes[3], nodes[4]]);
  expect(written.edges).toEqual([edges[0], edges[2], edges[1]]);
});
