// The canvas of a run's page: what draws it is loaded when somebody first looks at it, and the address keeps the choice.
const $ = (id) => document.getElementById(id);
const HASH = "#canvas";

let isLoaded = false;

function load() {
  if (isLoaded) return;
  isLoaded = true;
  const { script, sheet: styles } = $("drawn").dataset;
  const sheet = Object.assign(document.createElement("link"), { rel: "stylesheet", href: styles });
  document.head.append(sheet);
  import(new URL(script, location.href)).catch((error) => {
    isLoaded = false; // the next look tries again
    sheet.remove();
    $("canvas").textContent = `The canvas could not be loaded: ${error.message}`;
  });
}

function show(isCanvas) {
  if (isCanvas) load();
  $("drawn").hidden = !isCanvas;
  $("panes").hidden = isCanvas;
  for (const [id, isChosen] of [["show-canvas", isCanvas], ["show-log", !isCanvas]]) {
    $(id).setAttribute("aria-selected", isChosen);
    $(id).tabIndex = isChosen ? 0 : -1;
  }
}

function choose(isCanvas) {
  history.replaceState(null, "", isCanvas ? HASH : location.pathname + location.search);
  show(isCanvas);
}

$("show-canvas").addEventListener("click", () => choose(true));
$("show-log").addEventListener("click", () => choose(false));
document.querySelector(".run > .tabs").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  choose($("drawn").hidden);
  $($("drawn").hidden ? "show-log" : "show-canvas").focus();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  if (!document.querySelector("dialog[open]")) choose($("drawn").hidden);
});
addEventListener("hashchange", () => show(location.hash === HASH));
show(location.hash === HASH);
