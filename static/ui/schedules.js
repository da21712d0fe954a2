// The pages of schedules: the form with its preview, backfill, delete, and moments as this device's clock shows them.
import { parsed } from "./json_text.js";
import { refresh } from "./live.js";
import { toast } from "./page.js";
import { request } from "./rest.js";

const $ = (id) => document.getElementById(id);
const LOCAL = { weekday: "short", day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
const THERE = { weekday: "short", day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" };
const NUMBERS = ["workflowVersion", "priority", "maxRuns"];
const WAIT = 250; // milliseconds after the last key

function sayLocal() {
  for (const time of document.querySelectorAll("time[data-local]")) time.textContent = `${new Date(time.dateTime).toLocaleString(undefined, LOCAL)} here`;
}
sayLocal();
document.addEventListener("refreshed", sayLocal);

// -- the form -----------------------------------------------------------------------------------------------------

const form = $("schedule");

function text(name) {
  return form.elements[name].value.trim();
}

function element(tag, content, className = "") {
  const made = document.createElement(tag);
  made.textContent = content;
  made.className = className;
  return made;
}

let timer = 0;
let asked; // the preview that is under way

async function preview() {
  asked?.abort();
  asked = new AbortController();
  const body = { schedule: text("schedule"), timezone: text("timezone") || "UTC" };
  for (const key of ["startAt", "endAt"]) if (text(key)) body[key] = text(key);
  let shown;
  try {
    const answer = await request("POST", "/schedules/preview", { body, signal: asked.signal });
    mark(answer.problems ?? {});
    shown = answer.valid ? runs(answer) : Object.values(answer.problems).map((problem) => element("p", problem, "problem-text"));
  } catch (error) {
    if (error.name === "AbortError") return;
    shown = [element("p", error.message, "problem-text")];
  }
  $("preview").replaceChildren(...shown);
}

function runs({ reading, nextRuns }) {
  const list = element("ul", "", "runs");
  for (const { at, local } of nextRuns) {
    const row = element("li", "");
    // Its own clock's time, said as a moment of UTC: this device need not know the zone.
    const there = new Date(`${local.slice(0, 19)}Z`).toLocaleString(undefined, { ...THERE, timeZone: "UTC" });
    row.append(element("span", there), element("span", new Date(at).toLocaleString(undefined, LOCAL), "quiet small"));
    list.append(row);
  }
  const zone = text("timezone") || "UTC";
  return [element("p", reading, "reading"), list, element("p", `First by the clocks of ${zone}, then by yours.`, "quiet small")];
}

function mark(problems) {
  for (const field of form.elements) if (field.name) field.toggleAttribute("aria-invalid", field.name in problems);
}

function settings() {
  const body = { description: text("description"), overlapPolicy: text("overlapPolicy") };
  for (const key of ["name", "schedule", "timezone"]) body[key] = text(key);
  for (const key of ["catchUp", "jitter", "startAt", "endAt"]) body[key] = text(key) || null;
  for (const key of NUMBERS) body[key] = text(key) === "" ? null : number(key);
  body.priority ??= 0;
  body.inputs = text("inputs") ? json("inputs", "Inputs") : null;
  if (text("spec")) body.spec = json("spec", "Spec");
  else if (text("workflowId")) body.workflowId = text("workflowId");
  else delete body.workflowVersion;
  return body;
}

function number(key) {
  const value = Number(text(key));
  if (!Number.isInteger(value)) throw at(key, new Error(`${form.elements[key].labels[0].textContent}: expected a whole number.`));
  return value;
}

function json(key, label) {
  try {
    return parsed(form.elements[key].value, label);
  } catch (error) {
    throw at(key, error);
  }
}

// Says which field an error is about.
function at(key, error) {
  return Object.assign(error, { key });
}

function lead({ key, at: offset }) {
  const field = form.elements[key];
  mark({ [key]: "" });
  field.closest("details")?.setAttribute("open", "");
  field.focus();
  if (offset !== undefined) field.setSelectionRange(offset, Math.min(offset + 1, field.value.length));
}

async function save(event) {
  event.preventDefault();
  const [problem, button] = [$("form-problem"), $("save")];
  problem.hidden = true;
  button.disabled = true;
  try {
    const { schedule, version } = form.dataset;
    const body = settings();
    const headers = schedule ? { "If-Match": `"${version}"` } : {};
    const answer = await request(schedule ? "PATCH" : "POST", schedule ? `/schedules/${schedule}` : "/schedules", { body, headers });
    location.assign(`/ui/schedules/${answer.id}`);
  } catch (error) {
    const details = error.answer?.details;
    if (error.key) lead(error);
    if (details && !Array.isArray(details)) mark(details);
    const first = Array.isArray(details) ? `: ${details[0].path} ${details[0].message}` : "";
    problem.textContent = `${error.message}${first}`;
    problem.hidden = false;
    button.disabled = false;
  }
}

if (form) {
  form.addEventListener("submit", save);
  form.addEventListener("input", (event) => {
    if (!["schedule", "timezone", "startAt", "endAt"].includes(event.target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(preview, WAIT);
  });
  preview();
}

// -- one schedule -------------------------------------------------------------------------------------------------

const backfill = $("backfill");
backfill?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = backfill.querySelector(".problem-text");
  problem.hidden = true;
  try {
    const body = { start: backfill.elements.start.value.trim(), end: backfill.elements.end.value.trim() };
    const { queued } = await request("POST", `/schedules/${backfill.dataset.schedule}/backfill`, { body });
    toast(queued.length === 1 ? "1 run is queued." : `${queued.length} runs are queued.`);
    refresh();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-delete]");
  if (!button) return;
  const dialog = $("ask");
  $("ask-title").textContent = `Delete ${button.dataset.name}?`;
  $("ask-text").textContent = "The schedule and its history go; its executions stay. This cannot be taken back.";
  for (const label of ["reason", "name", "json"]) $(`ask-${label}-label`).hidden = true;
  for (const field of ["ask-reason", "ask-name"]) $(field).required = false;
  $("ask-yes").textContent = "Delete the schedule";
  $("ask-yes").classList.add("danger");
  $("ask-problem").hidden = true;
  dialog.querySelector("form").onsubmit = async (submitted) => {
    submitted.preventDefault();
    try {
      await request("DELETE", button.dataset.delete);
      location.assign("/ui/schedules");
    } catch (error) {
      $("ask-problem").textContent = error.message;
      $("ask-problem").hidden = false;
    }
  };
  dialog.showModal();
});
