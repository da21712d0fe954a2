// What the admin's pages do by themselves: time that is left counts down, cells and the search get their names.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function left(seconds) {
  if (seconds <= 0) return "is over";
  const place = Math.max(0, UNITS.findIndex(([length]) => seconds >= length));
  const [unit, name] = UNITS[place];
  const text = `${Math.floor(seconds / unit)} ${name}`;
  if (!UNITS[place + 1]) return text;
  const [smaller, of] = UNITS[place + 1];
  return `${text} ${String(Math.floor((seconds % unit) / smaller)).padStart(2, "0")} ${of}`;
}

function tick() {
  for (const span of document.querySelectorAll("[data-until]")) {
    const seconds = Math.floor((Date.parse(span.dataset.until) - Date.now()) / 1000);
    span.textContent = left(seconds);
    span.className = `remaining remaining-${seconds <= 0 ? "over" : seconds < 600 ? "soon" : "calm"}`;
  }
}

function nameCells() {
  const names = [...document.querySelectorAll("#result_list thead th")].map((head) => head.textContent.trim());
  for (const row of document.querySelectorAll("#result_list tbody tr")) {
    [...row.children].forEach((cell, place) => (cell.dataset.label = names[place] ?? ""));
  }
}

function nameSearch() {
  const field = document.getElementById("searchbar"); // Django labels it with a picture alone
  field?.setAttribute("aria-label", field.labels[0]?.querySelector("img")?.alt || "Search");
}

function nameFilters() {
  for (const sign of document.querySelectorAll(".help-tooltip[aria-label]")) sign.setAttribute("role", "img"); // a name needs a role
}

nameCells();
nameSearch();
addEventListener("load", nameFilters); // Django draws lists to choose from at that moment
tick();
setInterval(tick, 1000);
