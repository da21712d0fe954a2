// What the server offers for a place on the canvas, in its menu: fixes of what is wrong there, and connections.
import type { Problem } from "../model/problems";
import { editor } from "../store";
import { applyFix, fixable } from "./fixing";
import { addDeeds, type Deed } from "./menu";
import { suggest } from "./suggesting";

const MOST = 5;

export function addOffers(): () => void {
  return addDeeds("offers", ({ kind, nodes, edges }): Deed[] => {
    const { mayEdit, nodeMarks, edgeMarks } = editor.getState();
    if (!mayEdit) return [];
    if (kind === "canvas") {
      return [
        {
          id: "suggest",
          label: "Suggest connections",
          icon: "llm",
          shortcut: "s",
          section: "suggest",
          run: () => void suggest(),
        },
      ];
    }
    const marks = kind === "edge" ? edges.map((key) => edgeMarks.get(key)) : nodes.map((key) => nodeMarks.get(key));
    return fixesOf(marks.flatMap((list) => list ?? []));
  });
}

// Two problems that one thing mends are one item.
function fixesOf(problems: Problem[]): Deed[] {
  const list = fixable(problems);
  return list
    .filter(({ fix }, index) => list.findIndex((other) => other.fix?.label === fix?.label) === index)
    .slice(0, MOST)
    .map((problem, index) => ({
      id: `fix ${index}`,
      label: problem.fix?.label ?? "",
      icon: "check",
      section: "suggest",
      run: () => applyFix(problem),
    }));
}
