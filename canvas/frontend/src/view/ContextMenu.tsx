// The menu of what can be done at a spot: by pointer, and by keys as menus are - arrows, first letters, Enter, Esc.
import { type KeyboardEvent, type ReactElement, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { closeMenu, type Deed, deedsFor, menuStore, type Spot } from "../behaviours/menu";
import { Icon } from "./icons";
import "./menu.css";

export function ContextMenu(): ReactElement | null {
  const spot = useStoreWithEqualityFn(menuStore, (state) => state.spot);
  return spot && <Menu key={JSON.stringify(spot.at)} spot={spot} />;
}

const NAMES: Record<Spot["kind"], string> = {
  node: "Of this node",
  edge: "Of this connection",
  canvas: "Of the canvas",
  selection: "Of what is chosen",
  file: "Import, export and more",
};

function Menu({ spot }: { spot: Spot }): ReactElement | null {
  const [sections] = useState(() => deedsFor(spot));
  const menu = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement);
  const [place, setPlace] = useState(spot.at);
  const isEmpty = sections.length === 0;
  useLayoutEffect(() => {
    const box = menu.current?.getBoundingClientRect();
    if (!box) return;
    const x = Math.max(4, Math.min(spot.at.x, innerWidth - box.width - 4));
    const y = Math.max(4, Math.min(spot.at.y, innerHeight - box.height - 4));
    setPlace({ x, y });
  }, [spot]);
  useEffect(() => {
    if (isEmpty) closeMenu();
    else itemsOf(menu.current)[0]?.focus({ preventScroll: true });
  }, [isEmpty]);
  if (isEmpty) return null;

  function close(): void {
    closeMenu();
    if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  }
  function press(event: KeyboardEvent): void {
    event.stopPropagation();
    const items = itemsOf(menu.current);
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = wanted(event.key, at, items);
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (to >= 0) items[to]?.focus();
    else return;
    event.preventDefault();
  }
  return (
    <>
      <button
        type="button"
        className="veil"
        aria-label="Close"
        tabIndex={-1}
        onClick={close}
        onContextMenu={(event) => {
          event.preventDefault();
          close();
        }}
      />
      <div
        ref={menu}
        className="context-menu"
        role="menu"
        aria-label={NAMES[spot.kind]}
        tabIndex={-1}
        style={{ left: place.x, top: place.y }}
        onKeyDown={press}
        onContextMenu={(event) => event.preventDefault()}
      >
        {sections.map((deeds, index) => (
          <div key={deeds[0]?.section} className="section">
            {index > 0 && <hr />}
            {deeds.map((deed) => (
              <Item key={deed.id} deed={deed} onDone={close} />
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

function Item({ deed, onDone }: { deed: Deed; onDone: () => void }): ReactElement {
  const isSwitch = deed.isChecked !== undefined;
  return (
    <button
      type="button"
      {...(isSwitch ? { role: "menuitemcheckbox", "aria-checked": deed.isChecked } : { role: "menuitem" })}
      aria-disabled={deed.isDisabled}
      className={deed.section === "danger" ? "danger-text" : ""}
      title={deed.why}
      onMouseEnter={(event) => event.currentTarget.focus({ preventScroll: true })}
      onClick={() => {
        if (deed.isDisabled) return;
        onDone();
        deed.run();
      }}
    >
      {deed.icon || deed.isChecked ? <Icon name={deed.isChecked ? "check" : (deed.icon ?? "")} /> : <span />}
      <span className="clip" dir="auto">
        {deed.label}
      </span>
      {deed.shortcut && <kbd>{deed.shortcut}</kbd>}
    </button>
  );
}

function itemsOf(menu: HTMLElement | null): HTMLElement[] {
  return [...(menu?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
}

// The item that a key leads to, or -1; a letter leads to the next item that begins with it.
function wanted(key: string, at: number, items: HTMLElement[]): number {
  const count = items.length;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at - 1 + count) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (key.length !== 1) return -1;
  const begins = (item: HTMLElement) => item.textContent.trim().toLowerCase().startsWith(key.toLowerCase());
  for (let step = 1; step <= count; step += 1) {
    const next = (at + step) % count;
    if (items[next] && begins(items[next])) return next;
  }
  return -1;
}
