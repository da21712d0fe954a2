// The values of the newest run of a workflow, for previews and samples; asked for when first needed, kept for a while.
// Secrets are masked by the server.
import { isObject, type Json, type JsonObject, objectOr, textOr } from "../model/json";
import { listOf } from "../model/run";
import { request, requestList } from "./requests";

export interface LastRun {
  id: string; // "" when there was none
  status: string;
  at: string;
  inputs: JsonObject;
  outputs: Map<string, Json>; // by node
}

const KEPT = 15_000; // ms
const NONE: LastRun = { id: "", status: "", at: "", inputs: {}, outputs: new Map() };
let kept: { workflow: string; until: number; answer: Promise<LastRun> } | null = null;

export function lastRun(workflow: string): Promise<LastRun> {
  if (!workflow) return Promise.resolve(NONE);
  if (kept?.workflow === workflow && kept.until > Date.now()) return kept.answer;
  const answer = ask(workflow);
  kept = { workflow, until: Date.now() + KEPT, answer };
  answer.catch(() => {
    kept = null;
  });
  return answer;
}

async function ask(workflow: string): Promise<LastRun> {
  const newest = (await requestList(`/workflows/${workflow}/executions?limit=1`))[0];
  const id = textOr(newest?.id);
  if (!newest || !id) return NONE;
  const outputs = new Map<string, Json>();
  let after: Json | undefined = 0;
  for (let page = 0; page < 5 && after !== null && after !== undefined; page += 1) {
    const answer: JsonObject = await request("GET", `/executions/${id}/states?after=${after}`);
    const states = listOf(answer.states);
    for (const state of states) {
      if (state.status === "success" && state.output !== undefined) outputs.set(textOr(state.state), state.output);
    }
    after = states.length ? answer.next : null;
  }
  return { id, status: textOr(newest.status), at: textOr(newest.createdAt), inputs: objectOr(newest.inputs), outputs };
}

// What a reference like ${clone.output.path} read in that run; nothing where it gave nothing.
export function valueIn(run: LastRun, reference: string): Json | undefined {
  const input = /^\$\{workflow\.input\.([A-Za-z0-9_]+)\}$/.exec(reference);
  if (input) return run.inputs[input[1] ?? ""];
  const output = /^\$\{(.+?)\.output(?:\.(.+))?\}$/.exec(reference);
  const value = output ? run.outputs.get(output[1] ?? "") : undefined;
  if (!output?.[2] || value === undefined) return value;
  return isObject(value) ? value[output[2]] : undefined;
}
