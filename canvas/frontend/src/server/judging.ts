// What the server says of a canvas: what is wrong, with fixes, and which connections do not fit.
import { connectionProblems } from "../model/connections";
import { type Canvas, writeCanvas } from "../model/document";
import { type Problem, readProblems } from "../model/problems";
import { request } from "./requests";

export interface Judgement {
  problems: Problem[];
  onEdges: Problem[]; // shown at edges, and not in the list
}

// Throws as requests do for what is wrong; what cannot be said of connections is left out.
export async function judge(canvas: Canvas, signal?: AbortSignal): Promise<Judgement> {
  const drawn = writeCanvas(canvas);
  const status = canvas.status === "draft" ? "draft" : "active";
  const asked = signal ? { signal } : {};
  const [report, connections] = await Promise.all([
    request("POST", "/workflows/validate", { body: { name: canvas.name, status, ...drawn }, ...asked }),
    drawn.edges.length
      ? request("POST", "/workflows/compatibility", { body: drawn, ...asked }).catch(() => ({}))
      : Promise.resolve({}),
  ]);
  const problems = readProblems(report);
  const { listed, repeated } = connectionProblems(connections, canvas, problems);
  return { problems: [...problems, ...listed], onEdges: repeated };
}
