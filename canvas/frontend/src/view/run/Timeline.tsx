// The timeline of the run: rows of bars with a scale above, zoomed and moved by mouse and keyboard, live.
import { type KeyboardEvent, type PointerEvent, type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { showRun } from "../../behaviours/steering";
import { labelOf } from "../../model/document";
import { isOpen } from "../../model/run";
import { moved, type Row, rowsOf, type Span, spanOf, ticks, zoomed } from "../../model/timeline";
import { useRun } from "../../run";
import { useEditor } from "../../store";
import { Icon } from "../icons";
import { spoken, toneOf } from "../RunBadge";
import { useRows } from "./rows";

const HEIGHT = 26;
const NAMES = 190; // px left of the bars
const TICK = 64; // px that the word of a moment takes
const ZOOM = 0.7;
const HOLDS = new Set(["Parallel", "Pass"]); // the branches of a drawing, and what a caught failure leads to

export function Timeline(): ReactElement {
  const items = useRun((run) => run.items);
  const attempts = useRun((run) => run.attempts);
  const standing = useRun((run) => run.standing);
  const canvas = useEditor((state) => state.history.present.nodes);
  const activities = useEditor((state) => state.activities);
  const chosen = useEditor((state) => state.nodes);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [view, setView] = useState<Span | null>(null); // null: the whole, also when it grows
  const [active, setActive] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; view: Span } | null>(null);

  const now = useMemo(() => (items.size ? Date.now() : 0), [items]);
  const labels = useMemo(() => new Map(canvas.map((node) => [node.key, labelOf(node)])), [canvas]);
  const whole = useMemo(() => spanOf(items, now), [items, now]);
  const rows = useMemo(
    () =>
      rowsOf(items, attempts, standing, now, {
        named: (state) => labels.get(state) ?? state,
        waits: (activity) => activities.find(activity)?.category === "approval",
        opened,
        // What only holds the branches of the drawing together was not drawn.
        hidden: (one) => labels.size > 0 && !labels.has(one.state) && !("type" in one && !HOLDS.has(one.type)),
      }),
    [items, attempts, standing, now, labels, activities, opened],
  );
  const { first, last } = useRows(scroller, HEIGHT, rows.length);
  const room = (scroller.current?.clientWidth ?? 800) - NAMES;
  const seen = view ?? whole;
  const size = seen.to - seen.from;
  const share = (at: number) => `${(((at - seen.from) / size) * 100).toFixed(3)}%`;

  const momentAt = (x: number): number => {
    const box = scroller.current?.getBoundingClientRect();
    if (!box) return seen.from;
    const width = Math.max(1, (scroller.current?.clientWidth ?? box.width) - NAMES);
    return seen.from + Math.max(0, Math.min(1, (x - box.left - NAMES) / width)) * size;
  };
  const zoom = (factor: number, at = seen.from + size / 2) => {
    const next = zoomed(seen, whole, factor, at);
    setView(next.to - next.from >= whole.to - whole.from ? null : next);
  };

  // The browser lets only a listener that says so keep the page from zooming or scrolling.
  const onWheel = useRef<(event: WheelEvent) => void>(() => undefined);
  onWheel.current = (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, momentAt(event.clientX));
    } else if (view && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      event.preventDefault();
      const by = event.deltaX || event.deltaY;
      setView(moved(seen, whole, (by / 600) * size));
    }
  };
  useEffect(() => {
    const element = scroller.current;
    const turn = (event: WheelEvent) => onWheel.current(event);
    element?.addEventListener("wheel", turn, { passive: false });
    return () => element?.removeEventListener("wheel", turn);
  }, []);

  const toggle = (row: Row) => {
    if (row.item || row.count < 2) return;
    const next = new Set(opened);
    if (!next.delete(row.state)) next.add(row.state);
    setOpened(next);
  };

  function press(event: KeyboardEvent): void {
    const row = rows[active];
    const deeds: Record<string, () => void> = {
      ArrowDown: () => go(active + 1),
      ArrowUp: () => go(active - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => setView(view && moved(seen, whole, size / 8)),
      ArrowLeft: () => setView(view && moved(seen, whole, -size / 8)),
      "+": () => zoom(ZOOM),
      "=": () => zoom(ZOOM),
      "-": () => zoom(1 / ZOOM),
      "0": () => setView(null),
      Enter: () => row && showRun(row.state),
      " ": () => row && toggle(row),
    };
    const deed = deeds[event.key];
    if (!deed || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    deed();
  }

  function go(place: number): void {
    const next = Math.max(0, Math.min(rows.length - 1, place));
    setActive(next);
    const box = scroller.current;
    if (!box) return;
    if (next * HEIGHT < box.scrollTop) box.scrollTop = next * HEIGHT;
    else if ((next + 1) * HEIGHT > box.scrollTop + box.clientHeight)
      box.scrollTop = (next + 1) * HEIGHT - box.clientHeight;
  }

  const grab = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0 && view) drag.current = { x: event.clientX, view: seen };
    },
    onPointerMove: (event: PointerEvent) => {
      const begun = drag.current;
      if (!begun || !event.buttons) return;
      const width = Math.max(1, (scroller.current?.clientWidth ?? 600) - NAMES);
      if (Math.abs(event.clientX - begun.x) > 3) {
        setView(moved(begun.view, whole, ((begun.x - event.clientX) / width) * size));
      }
    },
    onPointerUp: () => {
      drag.current = null;
    },
  };

  return (
    <div className="timeline">
      <div className="scale">
        <div className="scale-tools">
          <button type="button" className="plain" title="Closer (+)" onClick={() => zoom(ZOOM)}>
            <Icon name="plus" />
            <span className="hidden">Closer</span>
          </button>
          <button type="button" className="plain" title="Farther (-)" disabled={!view} onClick={() => zoom(1 / ZOOM)}>
            <Icon name="minus" />
            <span className="hidden">Farther</span>
          </button>
          <button
            type="button"
            className="plain"
            title="The whole run (0)"
            disabled={!view}
            onClick={() => setView(null)}
          >
            <Icon name="fit" />
            <span className="hidden">The whole run</span>
          </button>
          <span className="quiet">{spoken(whole.to - whole.from)}</span>
        </div>
        <div className="scale-ticks" aria-hidden="true">
          {ticks(seen, whole.from, Math.max(2, Math.min(8, room / TICK))).map((at) => (
            <span key={at} style={{ left: share(whole.from + at) }}>
              {at % 1000 && at > 1000 ? `${at / 1000}s` : spoken(at)}
            </span>
          ))}
        </div>
      </div>
      {!rows.length && <p className="quiet pad">Nothing has begun.</p>}
      <div
        ref={scroller}
        className="bars"
        role="tree"
        aria-label="Timeline: nodes from top to bottom, time from left to right"
        tabIndex={0}
        aria-activedescendant={active >= first && active < last ? `bar-${active}` : undefined}
        onKeyDown={press}
        {...grab}
      >
        <div className="row-window" style={{ height: rows.length * HEIGHT }}>
          {rows.slice(first, last).map((row, index) => (
            <BarRow
              key={row.key}
              row={row}
              place={first + index}
              isActive={first + index === active}
              isChosen={chosen.has(row.state)}
              view={seen}
              share={share}
              onToggle={() => toggle(row)}
              onChoose={() => {
                setActive(first + index);
                showRun(row.state);
              }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function BarRow({
  row,
  place,
  isActive,
  isChosen,
  view,
  share,
  onToggle,
  onChoose,
}: {
  row: Row;
  place: number;
  isActive: boolean;
  isChosen: boolean;
  view: Span;
  share: (at: number) => string;
  onToggle: () => void;
  onChoose: () => void;
}): ReactElement {
  const [, , word] = toneOf(row.status);
  const said = [
    row.name,
    word,
    row.count > 1 && `${row.count} items`,
    row.failed > 0 && row.count > 1 && `${row.failed} failed`,
    row.isReused && "reused",
  ]
    .filter(Boolean)
    .join(", ");
  const least = (view.to - view.from) / 400;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, and says which option is active
    <div
      id={`bar-${place}`}
      role="treeitem"
      aria-level={row.item ? 2 : 1}
      aria-expanded={row.count > 1 ? row.isOpen : undefined}
      aria-selected={isChosen}
      aria-label={said}
      className={`bar-row${row.item ? " of-item" : ""}${isActive ? " active" : ""}`}
      style={{ top: place * HEIGHT }}
      onClick={onChoose}
    >
      <span className="bar-name">
        {row.count > 1 ? (
          // biome-ignore lint/a11y/noStaticElementInteractions: for the mouse; the tree takes the keys
          // biome-ignore lint/a11y/useKeyWithClickEvents: for the mouse; the tree takes the keys
          <span
            className="fold"
            title={row.isOpen ? "Close its items (Space)" : "Open its items (Space)"}
            onClick={(event) => {
              event.stopPropagation();
              onToggle();
            }}
          >
            <Icon name={row.isOpen ? "down" : "right"} />
          </span>
        ) : (
          <span className="fold" />
        )}
        <span className="clip" dir="auto" title={row.name}>
          {row.name}
        </span>
        {row.isReused && <span className="quiet nowrap">reused</span>}
        {row.count > 1 && (
          <span className="quiet nowrap">
            {row.count}×{row.failed > 0 && <span className="tone-bad bad-count"> {row.failed} failed</span>}
          </span>
        )}
      </span>
      <span className="bar-line">
        {row.bars().map((bar, index) => {
          if (bar.to < view.from || bar.from > view.to) return null;
          const from = Math.max(bar.from, view.from);
          const to = Math.min(Math.max(bar.to, from + least), view.to);
          const [tone] = toneOf(bar.status);
          const kind = `bar tone-${tone}${bar.isWaiting ? " waits" : ""}${isOpen(bar.status) ? " goes-on" : ""}`;
          return (
            <span
              key={`${index} ${bar.status}`}
              className={kind}
              title={[bar.title, !row.isReused && spoken(bar.to - bar.from)].filter(Boolean).join(", ")}
              style={{
                left: share(Math.min(from, to - least)),
                width: `${(((to - Math.min(from, to - least)) / (view.to - view.from)) * 100).toFixed(3)}%`,
              }}
            />
          );
        })}
      </span>
    </div>
  );
}
