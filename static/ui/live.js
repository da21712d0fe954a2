// Keeps the parts of a page that are marked data-live true: the page is fetched again and what changed is replaced.
// Opened details stay open, with what they have loaded; focus stays where it is. Nothing is replaced under a pressed
// pointer: the click would go to nobody.

const seen = new Map();
let running = null;
let again = false;
let isPressed = false;
let isHeldBack = false;

const isBusy = () => isPressed || document.querySelector("dialog[open], .menu[open]") !== null;

addEventListener("pointerdown", () => { isPressed = true; }, true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(release), true);

function release() {
  isPressed = false;
  if (isHeldBack) refresh();
}

export function refresh() {
  if (running) {
    again = true;
    return running;
  }
  running = load().finally(() => {
    running = null;
    if (again) {
      again = false;
      refresh();
    }
  });
  return running;
}

async function load() {
  isHeldBack = false;
  let response;
  try {
    response = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
  } catch {
    response = null;
  }
  if (response?.redirected) location.reload(); // signed out: this leads to the sign-in and back
  if (!response?.ok) document.dispatchEvent(new CustomEvent("unrefreshed")); // the next call tries again
  if (!response?.ok || response.redirected) return false;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  if (isBusy()) {
    isHeldBack = isPressed;
    return false;
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const replacement = fresh.getElementById(part.id);
    if (!replacement || seen.get(part.id) === replacement.innerHTML) continue;
    seen.set(part.id, replacement.innerHTML);
    replace(part, replacement);
  }
  document.title = fresh.title;
  document.dispatchEvent(new CustomEvent("refreshed"));
  return true;
}

function replace(part, replacement) {
  const focused = part.contains(document.activeElement) ? focusPlace(document.activeElement) : null;
  const open = new Map([...part.querySelectorAll("details[open][id]")].map((details) => [details.id, details]));
  const scrolled = part.scrollTop;
  for (const name of Object.keys(replacement.dataset)) part.dataset[name] = replacement.dataset[name];
  part.replaceChildren(...replacement.childNodes);
  for (const [id, old] of open) {
    const details = part.querySelector(`#${CSS.escape(id)}`);
    if (!details) continue;
    const [was, is] = [old.querySelector(".loaded"), details.querySelector(".loaded")];
    if (was && is) {
      is.replaceWith(was);
      details.dataset.loaded = "yes";
    }
    details.open = true;
  }
  part.scrollTop = scrolled;
  if (focused) focused(part)?.focus({ preventScroll: true });
}

function focusPlace(element) {
  if (element.id) return () => document.getElementById(element.id);
  const owner = element.closest("[id]");
  if (element.matches("summary") && owner) return () => document.getElementById(owner.id)?.querySelector("summary");
  return () => null;
}

// Every `seconds` while somebody looks.
export function keepFresh(seconds) {
  setInterval(() => {
    if (!document.hidden && !isBusy()) refresh();
  }, seconds * 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
}
