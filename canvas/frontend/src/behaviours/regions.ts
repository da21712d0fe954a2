// F6 goes on to the next part of the editor, Shift F6 back - also out of a field: without a mouse the panel would be a
// long way behind the steps that can be added. It refuses to leave a dialog.
import { useEffect } from "react";

const REGIONS = [".toolbar", ".palette", ".surface", ".panel", ".run-dock"];
const FIRST: Record<string, string[]> = {
  ".surface": [".react-flow__node.selected", ".react-flow__node"],
  ".panel": [".scroll :is(input, textarea, select, .cm-content)"],
};
const ANY = "button, a[href], input, textarea, select, [tabindex='0']";

export function useRegions(): void {
  useEffect(() => {
    function press(event: KeyboardEvent): void {
      if (event.key !== "F6" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      const places = REGIONS.map(held).filter((place) => place !== null);
      const at = places.findIndex(({ part }) => part.contains(document.activeElement));
      const step = event.shiftKey ? -1 : 1;
      const start = at < 0 && event.shiftKey ? 0 : at; // from nowhere: the first, or the last
      places[(start + step + places.length) % places.length]?.first.focus();
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

// The part, if there is one now, with what is to have the focus there.
function held(selector: string): { part: Element; first: HTMLElement } | null {
  const part = document.querySelector(selector);
  const isThere = (one: HTMLElement) => !one.matches(":disabled") && one.checkVisibility();
  for (const wanted of [...(FIRST[selector] ?? []), ANY]) {
    const first = [...(part?.querySelectorAll<HTMLElement>(wanted) ?? [])].find(isThere);
    if (part && first) return { part, first };
  }
  return null;
}
