// What every page does: theme, shortcuts, moments that stay true, rows that lead somewhere, actions with a question.
import { parsed } from "./json_text.js";
import { keepFresh, refresh } from "./live.js";
import { request } from "./rest.js";

const $ = (id) => document.getElementById(id);
const THEMES = ["", "dark", "light"];

function nextTheme() {
  const root = document.documentElement;
  const theme = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.cookie = `theme=${theme}; path=/; max-age=${theme ? 31536000 : 0}; samesite=lax`;
  toast(theme ? `Theme: ${theme}.` : "Theme: as the system.");
}

export function toast(text, isBad = false) {
  const note = document.createElement("div");
  note.className = isBad ? "toast bad" : "toast";
  note.textContent = text;
  $("toasts").replaceChildren(note);
  setTimeout(() => note.remove(), isBad ? 8000 : 3000);
}

// -- moments ------------------------------------------------------------------------------------------------------

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function relative(seconds, near) {
  const size = Math.floor(Math.abs(seconds));
  if (size < 5) return near;
  const place = UNITS.findIndex(([length]) => size >= length);
  const [unit, name] = UNITS[place];
  const text = `${Math.floor(size / unit)} ${name}`;
  if (seconds > 0) return `${text} ago`;
  if (unit < 3600) return `in ${text}`;
  const [smaller, of] = UNITS[place + 1]; // what is ahead in two units: an hour and a half is no hour
  const rest = Math.floor((size % unit) / smaller);
  return rest ? `in ${text} ${rest} ${of}` : `in ${text}`;
}

function span(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))}ms`;
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return [hours && `${hours}h`, minutes && `${minutes}m`, (whole % 60 || whole < 60) && `${whole % 60}s`].filter(Boolean).join("");
}

function tick() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const near = time.dataset.relative === "ahead" ? "due now" : "just now"; // what is to come did not happen just now
    say(time, relative((now - Date.parse(time.dateTime)) / 1000, near));
  }
  for (const since of document.querySelectorAll("[data-since]")) say(since, span((now - Date.parse(since.dataset.since)) / 1000));
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// -- actions ------------------------------------------------------------------------------------------------------

// A button with data-post asks (data-title) and sends; what it asks for is in its data- attributes.
function act(button) {
  const { post, title, key, value } = button.dataset;
  const fixed = key ? { [key]: value } : {};
  if (title) return ask(button, fixed);
  return send(button, post, fixed).catch((error) => toast(error.message, true));
}

function ask(button, fixed) {
  const { title, text, reason, name, json, jsonLabel, yes, danger } = button.dataset;
  const dialog = $("ask");
  $("ask-title").textContent = title;
  $("ask-text").textContent = text ?? "";
  for (const [label, wanted] of [["reason", reason], ["name", name], ["json", json]]) $(`ask-${label}-label`).hidden = wanted === undefined;
  $("ask-reason-label").querySelector("span").textContent = reason ?? "";
  $("ask-json-label").querySelector("span").textContent = jsonLabel ?? "";
  $("ask-reason").value = $("ask-json").value = "";
  $("ask-reason").required = button.dataset.reasonRequired !== undefined;
  $("ask-name").value = name ?? "";
  $("ask-name").required = name !== undefined;
  $("ask-yes").textContent = yes ?? "Yes";
  $("ask-yes").classList.toggle("danger", danger !== undefined);
  $("ask-problem").hidden = true;
  dialog.querySelector("form").onsubmit = async (event) => {
    event.preventDefault();
    const body = { ...fixed };
    try {
      if (reason !== undefined) body.reason = $("ask-reason").value;
      if (name !== undefined) body.name = $("ask-name").value.trim();
      if (json !== undefined && $("ask-json").value.trim()) body[json] = parsed($("ask-json").value, "This");
      await send($("ask-yes"), button.dataset.post, body, button.dataset);
      dialog.close();
      refresh();
    } catch (error) {
      $("ask-problem").textContent = error.message;
      $("ask-problem").hidden = false;
    }
  };
  dialog.showModal();
}

async function send(button, path, body, { done, goto, gotoRest = "" } = button.dataset) {
  button.setAttribute("aria-busy", "true");
  button.disabled = true;
  try {
    const answer = await request("POST", path, { body });
    if (goto) location.assign(goto + answer.id + gotoRest);
    else {
      toast(done ?? "Done.");
      refresh();
    }
  } finally {
    button.removeAttribute("aria-busy");
    button.disabled = false;
  }
}

// -- wiring -------------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-post]");
  if (button) {
    button.closest(".menu")?.removeAttribute("open");
    act(button);
    return;
  }
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button") && !String(getSelection())) location.assign(row.dataset.href);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
// What a state did is fetched when somebody opens it.
document.addEventListener("toggle", async (event) => {
  const details = event.target;
  if (!details.open && details.dataset?.volatile !== undefined) delete details.dataset.loaded; // opened again, it may be more
  if (!details.open || !details.dataset?.load || details.dataset.loaded) return;
  details.dataset.loaded = "yes";
  const place = details.querySelector(".loaded");
  try {
    const response = await fetch(details.dataset.load, { credentials: "same-origin" });
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    place.innerHTML = await response.text(); // our own template: everything in it is escaped
    place.classList.remove("quiet", "small");
  } catch (error) {
    delete details.dataset.loaded;
    place.textContent = `It could not be loaded (${error.message}); close and open it to try again.`;
  }
}, true);

// Enter sends a sentence; a new line is Shift and Enter.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches("[data-enter]")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

let prefix = 0;
const PLACES = { h: "/", w: "/ui/workflows", e: "/ui/executions", s: "/ui/schedules" };

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const isAfterG = Date.now() - prefix < 1200;
  prefix = 0;
  if (isAfterG && PLACES[event.key]) location.assign(PLACES[event.key]);
  else if (event.key === "g") prefix = Date.now();
  else if (event.key === "t") nextTheme();
  else if (event.key === "?") $("help").showModal();
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("[data-search]")?.focus();
  }
});
$("theme")?.addEventListener("click", nextTheme);
$("keys")?.addEventListener("click", () => $("help").showModal());
$("ask-no").addEventListener("click", () => $("ask").close());

const start = $("start");
if (start) {
  let key = newKey(); // pressing twice starts once
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    key = newKey(); // back from the run it started: this is another one
    $("run").disabled = false;
  });
  start.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [problem, button] = [start.querySelector(".problem-text"), $("run")];
    problem.hidden = true;
    button.disabled = true;
    try {
      const text = $("inputs").value.trim();
      const inputs = text ? parsed(text, "Inputs") : {};
      const suffix = digest(text);
      const execution = await request("POST", `/workflows/${start.dataset.workflow}/execute`, { body: { inputs }, headers: { "Idempotency-Key": `${key}-${suffix}` } });
      location.assign(`/ui/executions/${execution.id}`);
    } catch (error) {
      problem.textContent = reasons(error);
      problem.hidden = false;
      button.disabled = false;
    }
  });
}

function newKey() {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`; // plain HTTP from elsewhere has no randomUUID
}

// Other inputs are another request: the same key for both would be refused.
function digest(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 0xffffffff;
  return sum.toString(16);
}

function reasons(error) {
  const errors = error.answer?.errors ?? error.answer?.details?.errors;
  const first = Array.isArray(errors) && errors.find((one) => one.message);
  return first ? `${error.message}: ${first.message}` : error.message;
}

tick();
setInterval(tick, 1000);
document.addEventListener("refreshed", () => {
  $("stale")?.remove();
  tick();
});
document.addEventListener("unrefreshed", () => {
  if ($("stale")) return;
  const note = document.createElement("div");
  note.id = "stale";
  note.className = "toast bad";
  note.textContent = "The server does not answer. What is shown may be old; it is asked again.";
  $("toasts").append(note);
});
const every = Number(document.body.dataset.refresh);
if (every) keepFresh(every);
