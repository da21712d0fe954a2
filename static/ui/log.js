// The log of a run's page: lines, view and source wired to its controls.
import { plain } from "./ansi.js";
import { refresh } from "./live.js";
import { LogLines } from "./log_lines.js";
import { LogPlaces } from "./log_places.js";
import { LogSource } from "./log_source.js";
import { LogView } from "./log_view.js";

const $ = (id) => document.getElementById(id);
const STATES_EVERY = 700; // ms: states change faster than anybody reads

const lines = new LogLines();
const newest = new LogLines(); // of a long log, until all of it is here
const places = new LogPlaces($("log").dataset.execution, () => view.changed());
const view = new LogView(lines, { scroller: $("lines"), spacer: $("spacer"), pane: $("window"), choose, places });
view.onFollow = setFollow;

const progress = new Map(); // how far the activity of a branch is, by its last word
let nextStates = null;
let lastStates = 0;

function statesChanged() {
  if (document.hidden) {
    document.addEventListener("visibilitychange", statesChanged, { once: true });
    return Promise.resolve();
  }
  const wait = Math.max(0, lastStates + STATES_EVERY - Date.now());
  nextStates ??= new Promise((done) => setTimeout(done, wait)).then(() => {
    nextStates = null;
    lastStates = Date.now();
    return refresh();
  });
  return nextStates;
}

const source = new LogSource($("log").dataset.execution, {
  take(entries) {
    if (lines.add(entries)) offerNodes();
    changed();
  },
  preview(entries) {
    newest.add(entries);
    view.lines = entries.length ? newest : lines;
    changed();
  },
  progress({ branch, nodeId, percent, message }) {
    progress.set(`${branch} ${nodeId}`, [percent, message]);
    sayProgress();
  },
  changed: statesChanged,
  said(tone, text) {
    const place = $("connection");
    place.dataset.tone = tone;
    if (place.textContent !== text) place.textContent = place.title = text;
  },
  over: () => $("about").dataset.over === "yes",
});

function sayProgress() {
  for (const row of document.querySelectorAll(".standing[data-state]")) {
    const [percent, message] = progress.get(`${row.dataset.branch} ${row.dataset.state}`) ?? [];
    const meter = row.querySelector("progress");
    if (percent === undefined || !meter) continue;
    meter.hidden = false;
    meter.value = percent;
    const figure = `${Math.round(percent)} %`;
    row.querySelector(".note").textContent = message && message !== figure ? `${figure}: ${message}` : figure;
  }
}

function changed() {
  view.changed();
  sayMatches();
  const isEmpty = lines.shown.length === 0;
  $("no-lines").hidden = !isEmpty;
  if (isEmpty) $("no-lines").textContent = lines.all.length ? "No line fits the filters; choose another level or state." : "Nothing has been said yet.";
  $("log").dataset.lines = lines.all.length;
}

function offerNodes() {
  const select = $("node");
  for (const node of [...lines.nodes].sort()) {
    if ([...select.options].some((option) => option.value === node)) continue;
    select.add(new Option(node, node));
  }
}

function sayMatches() {
  const place = lines.matches.indexOf(view.current);
  const count = lines.matches.length;
  $("matches").textContent = !lines.text ? "" : count ? `${place >= 0 ? `${place + 1} / ` : ""}${count}` : "none";
}

function filter(by) {
  view.lines = lines; // whoever looks for something wants all there is
  lines.filter(by);
  view.current = -1;
  view.draw(true);
  changed();
}

function step(by) {
  const { matches } = lines;
  if (!matches.length) return;
  const here = view.current >= 0 ? view.current : Math.max(view.first, 0) - (by > 0 ? 1 : -1);
  const next = by > 0 ? matches.find((row) => row > here) ?? matches[0] : matches.findLast((row) => row < here) ?? matches.at(-1);
  setFollow(false);
  view.show(next);
  sayMatches();
}

function setFollow(on) {
  if (!on) view.lines = lines;
  $("follow").setAttribute("aria-pressed", String(on));
  view.follow(on);
}

function choose(line) {
  view.chosen = line.entry;
  const { timestamp, nodeId, level, event, fields, message } = line.entry;
  $("line-facts").textContent = [timestamp, places.of(line.entry.branch).whole, nodeId, level, event].filter(Boolean).join(" · ");
  $("line-text").textContent = fields ? `${plain(message)}\n\n${JSON.stringify(fields, null, 2)}` : plain(message);
  $("line-detail").hidden = false;
  setFollow(false);
}

function unchoose() {
  view.chosen = null;
  $("line-detail").hidden = true;
  view.draw(true);
}

let typing = null;
$("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    filter({ text: $("find").value });
    if (lines.text) step(1);
  }, 120);
});
$("find").addEventListener("keydown", (event) => {
  if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  else if (event.key === "Escape") $("lines").focus();
});
$("node").addEventListener("change", () => filter({ node: $("node").value }));
$("level").addEventListener("change", () => filter({ level: Number($("level").value) }));
$("follow").addEventListener("click", () => setFollow(!view.following));
$("previous").addEventListener("click", () => step(-1));
$("following").addEventListener("click", () => step(1));
$("line-close").addEventListener("click", unchoose);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-node]");
  if (!button) return;
  const { node } = button.dataset;
  if (![...$("node").options].some((option) => option.value === node)) $("node").add(new Option(node, node));
  $("node").value = node;
  filter({ node });
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea, select")) return;
  if (event.key === "f") setFollow(!view.following);
  else if (event.key === "n") step(1);
  else if (event.key === "N") step(-1);
  else if (event.key === "Escape" && !$("line-detail").hidden) unchoose();
  else if (event.key === "j" || event.key === "k") {
    const states = [...document.querySelectorAll("#states summary")];
    const here = states.indexOf(document.activeElement);
    states[Math.min(states.length - 1, Math.max(0, here + (event.key === "j" ? 1 : -1)))]?.focus();
  }
});
document.addEventListener("refreshed", sayProgress);
changed();
source.run();
