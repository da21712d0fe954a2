// Draws only those of many rows that are in view: rows of one height, in an element that scrolls.
import { type RefObject, useEffect, useState } from "react";

const SPARE = 6; // rows above and below

export interface Shown {
  first: number;
  last: number; // exclusive
}

export function useRows(scroller: RefObject<HTMLElement | null>, height: number, count: number): Shown {
  const [view, setView] = useState({ top: 0, size: 400 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => setView({ top: element.scrollTop, size: element.clientHeight });
    read();
    element.addEventListener("scroll", read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", read);
      observer.disconnect();
    };
  }, [scroller]);
  const first = Math.max(0, Math.min(Math.floor(view.top / height) - SPARE, count - 1));
  return { first, last: Math.min(count, Math.ceil((view.top + view.size) / height) + SPARE) };
}
