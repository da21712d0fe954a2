// Mends what the server knows a fix for: one problem with one press, or one after the other until nothing is left.
import type { Canvas } from "../model/document";
import { applyPatch, PatchRefused } from "../model/patch";
import type { Problem } from "../model/problems";
import { judge } from "../server/judging";
import { canvasNow, change, choose, closeGroup, editor, say, setProblems } from "../store";

const MOST = 100; // fixes in one go

export function fixable(problems: Problem[]): Problem[] {
  return problems.filter((problem) => problem.fix);
}

// One step of the history; what was added is chosen. Says why where the canvas is not the one that was judged.
export function applyFix(problem: Problem, group: string | null = null): boolean {
  const { fix } = problem;
  if (!fix || !editor.getState().mayEdit) return false;
  const before = canvasNow();
  let mended: Canvas;
  try {
    mended = applyPatch(before, fix.changes);
  } catch (error) {
    if (!(error instanceof PatchRefused)) throw error;
    say("The canvas has changed since it was checked. Try again in a moment.", true);
    return false;
  }
  change(() => mended, group);
  const known = new Set(before.nodes.map((node) => node.key));
  const added = mended.nodes.filter((node) => !known.has(node.key)).map((node) => node.key);
  if (added.length) choose(added);
  return true;
}

// The worst first; each is judged before the next, which may be gone with it. All of it is one step of the history.
export async function fixAll(): Promise<void> {
  const group = `fix all ${Date.now()}`;
  const tried = new Set<string>();
  let count = 0;
  closeGroup();
  try {
    while (count < MOST) {
      const next = fixable(editor.getState().problems).find((problem) => !tried.has(named(problem)));
      if (!next) break;
      tried.add(named(next));
      if (!applyFix(next, group)) break;
      count += 1;
      const mended = canvasNow();
      const { problems, onEdges } = await judge(mended);
      if (canvasNow() !== mended) break; // somebody draws on: what was judged is not there any more
      setProblems(problems, onEdges);
    }
    const left = editor.getState().problems.length;
    const done = count === 1 ? "1 problem is mended" : `${count} problems are mended`;
    say(`${done}${left ? `; ${left} left` : ""}. Undo takes it back.`);
  } catch (error) {
    say(`It cannot be checked now: ${error instanceof Error ? error.message : error}`, true);
  } finally {
    closeGroup();
  }
}

function named(problem: Problem): string {
  return [problem.code, problem.node, problem.edge, problem.parameter, problem.message].join("\n");
}
