// The items of a node that ran several times: of a map, of branches, of visits. Any number of them, one of them chosen.
import { type KeyboardEvent, type ReactElement, useMemo, useRef, useState } from "react";
import { type Item, isOpen, isUnwell } from "../../model/run";
import { Icon } from "../icons";
import { spoken, toneOf } from "../RunBadge";
import { useRows } from "./rows";

const HEIGHT = 28;
type Filter = "all" | "failed" | "open";

export function ItemList({
  items,
  chosen,
  onChoose,
}: {
  items: Item[];
  chosen: string;
  onChoose: (key: string) => void;
}): ReactElement {
  const [filter, setFilter] = useState<Filter>("all");
  const scroller = useRef<HTMLDivElement>(null);
  const counts = useMemo(
    () => ({
      all: items.length,
      failed: items.filter((item) => isUnwell(item.status)).length,
      open: items.filter((item) => isOpen(item.status)).length,
    }),
    [items],
  );
  const shown = useMemo(
    () =>
      filter === "all"
        ? items
        : items.filter((item) => (filter === "failed" ? isUnwell(item.status) : isOpen(item.status))),
    [items, filter],
  );
  const { first, last } = useRows(scroller, HEIGHT, shown.length);
  const place = shown.findIndex((item) => item.key === chosen);

  function press(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowDown: place + 1,
      ArrowUp: place < 0 ? 0 : place - 1,
      Home: 0,
      End: shown.length - 1,
    };
    const wanted = steps[event.key];
    const item = wanted === undefined ? undefined : shown[Math.max(0, Math.min(shown.length - 1, wanted))];
    if (!item) return;
    event.preventDefault();
    event.stopPropagation();
    onChoose(item.key);
    const top = shown.indexOf(item) * HEIGHT;
    const box = scroller.current;
    if (box && (top < box.scrollTop || top + HEIGHT > box.scrollTop + box.clientHeight)) box.scrollTop = top - HEIGHT;
  }

  return (
    <div className="run-items">
      <fieldset className="row choices" aria-label="Which items">
        {(["all", "failed", "open"] as const).map((one) => (
          <button
            key={one}
            type="button"
            className="button small-button"
            aria-pressed={filter === one}
            onClick={() => setFilter(one)}
          >
            {{ all: "All", failed: "Failed", open: "Under way" }[one]} {counts[one]}
          </button>
        ))}
      </fieldset>
      {!shown.length && <p className="quiet small">None.</p>}
      <div
        ref={scroller}
        className="item-list"
        role="listbox"
        aria-label="Items"
        tabIndex={0}
        aria-activedescendant={place >= first && place < last ? `item-${place}` : undefined}
        onKeyDown={press}
      >
        <div className="row-window" style={{ height: shown.length * HEIGHT }}>
          {shown.slice(first, last).map((item, index) => (
            <Row
              key={item.key}
              item={item}
              place={first + index}
              isChosen={item.key === chosen}
              onChoose={() => onChoose(item.key)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function Row({
  item,
  place,
  isChosen,
  onChoose,
}: {
  item: Item;
  place: number;
  isChosen: boolean;
  onChoose: () => void;
}): ReactElement {
  const [tone, icon, word] = toneOf(item.status);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, and says which option is active
    <div
      id={`item-${place}`}
      role="option"
      aria-selected={isChosen}
      className="run-item"
      style={{ top: place * HEIGHT }}
      title={item.error}
      onClick={onChoose}
    >
      <span className={`status tone-${tone}`}>
        <Icon name={icon} />
        <span className="hidden">{word}</span>
      </span>
      <span className="clip mono" dir="auto">
        {item.name || `visit ${item.visit}`}
        {item.error && <span className="quiet"> {item.error}</span>}
      </span>
      {item.attempt > 1 && <span className="quiet nowrap">attempt {item.attempt}</span>}
      <span className="number quiet">{item.milliseconds === null ? "" : spoken(item.milliseconds)}</span>
    </div>
  );
}
