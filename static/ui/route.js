// The review page's buttons: what is shown is what is sent, to the same REST API that programs use.
import { request } from "./rest.js";

const decide = document.getElementById("decide");
const spec = document.getElementById("spec");

async function save(status) {
  return request("POST", "/workflows", { body: { ...JSON.parse(decide.dataset.workflow), status } });
}

const ACTIONS = {
  async save() {
    const workflow = await save("draft");
    return `/ui/workflows/${workflow.id}`;
  },
  async run() {
    const workflow = await save("active");
    const execution = await request("POST", `/workflows/${workflow.id}/execute`, { body: { inputs: {} } });
    return `/ui/executions/${execution.id}`;
  },
  async schedule() {
    const made = await request("POST", "/schedules", { body: { spec: JSON.parse(spec.textContent) } });
    return `/ui/schedules/${made.id}`;
  },
};

decide?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  const problem = decide.querySelector(".problem-text");
  const buttons = decide.querySelectorAll("button");
  problem.hidden = true;
  for (const each of buttons) each.disabled = true; // one press, one workflow
  try {
    location.assign(await ACTIONS[button.dataset.do]());
  } catch (error) {
    const first = Array.isArray(error.answer?.details) ? error.answer.details[0]?.message : undefined;
    problem.textContent = first ? `${error.message}: ${first}` : error.message;
    problem.hidden = false;
    for (const each of buttons) each.disabled = false;
  }
});
addEventListener("pageshow", (event) => {
  if (event.persisted) for (const each of decide?.querySelectorAll("button") ?? []) each.disabled = false;
});
