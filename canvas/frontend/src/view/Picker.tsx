// Where a connection was dropped, or something is to be added: pick, and it is there and connected. What suits that
// end of the connection by its fields is listed first.
import { useReactFlow } from "@xyflow/react";
import { type ReactElement, useMemo, useState } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { type Drop, endPicking, picking } from "../behaviours/picking";
import type { Wanted } from "../model/changes";
import { suits } from "../model/connecting";
import { canvasNow, useEditor } from "../store";
import { addAt, follow } from "./Flow";
import { Icon } from "./icons";
import { type Entry, found, useEntries } from "./Palette";

export function Picker(): ReactElement | null {
  const drop = useStoreWithEqualityFn(picking, (state) => state.drop);
  return drop && <Choice drop={drop} />;
}

function Choice({ drop }: { drop: Drop }): ReactElement {
  const [text, setText] = useState("");
  const flow = useReactFlow();
  const all = useEntries();
  const fitting = useFitting(all, drop);
  const isConnected = Boolean(drop.from || drop.edge);
  const isWrong = (wanted: Wanted) => {
    const outer = drop.isForwards ? "start" : "end";
    return isConnected && (wanted.kind === outer || wanted.kind === "note" || (drop.edge && wanted.kind === "end"));
  };
  const entries = found(all, text).filter((one) => !isWrong(one.wanted));
  const first = entries.filter((one) => fitting.has(one)).sort((a, b) => (fitting.get(b) ?? 0) - (fitting.get(a) ?? 0));
  const rest = entries.filter((one) => !fitting.has(one));
  const best = first[0] ?? rest[0];
  const style = {
    left: Math.min(drop.at.x, window.innerWidth - 260),
    top: Math.min(drop.at.y, window.innerHeight - 340),
  };
  function pick(wanted: Wanted): void {
    addAt(wanted, drop.place, drop.from, drop.isForwards, drop.edge);
    endPicking();
    follow(flow, drop.place);
  }
  return (
    <>
      <button type="button" className="veil" aria-label="Close" onClick={endPicking} />
      <div className="picker" style={style} role="dialog" aria-label="What comes here">
        <input
          type="search"
          value={text}
          // biome-ignore lint/a11y/noAutofocus: it opens where the pointer is, to type in
          autoFocus
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") endPicking();
            if (event.key === "Enter" && best) pick(best.wanted);
          }}
          placeholder="What comes here?"
          aria-label="Search what comes here; Enter takes the first"
        />
        <div className="scroll">
          {first.length > 0 && <h3>Fits here</h3>}
          <List entries={first} onPick={pick} />
          {first.length > 0 && rest.length > 0 && <h3>Everything else</h3>}
          <List entries={rest} onPick={pick} />
        </div>
      </div>
    </>
  );
}

function List({ entries, onPick }: { entries: Entry[]; onPick: (wanted: Wanted) => void }): ReactElement {
  return (
    <>
      {entries.map((one) => (
        <button
          key={one.wanted.name}
          type="button"
          className="entry"
          title={one.about}
          data-category={one.icon}
          onClick={() => onPick(one.wanted)}
        >
          <span className="badge">
            <Icon name={one.icon} />
          </span>
          <span>{one.wanted.label}</span>
        </button>
      ))}
    </>
  );
}

// The entries that suit the end of the connection, with how well.
function useFitting(entries: Entry[], drop: Drop): ReadonlyMap<Entry, number> {
  const activities = useEditor((state) => state.activities);
  return useMemo(() => {
    const canvas = canvasNow();
    const edge = canvas.edges.find((one) => one.key === drop.edge);
    const from = canvas.nodes.find((one) => one.key === (edge ? edge.source : drop.from));
    const found = new Map<Entry, number>();
    if (!from) return found;
    for (const entry of entries) {
      const activity = entry.wanted.kind === "activity" ? activities.find(entry.wanted.name) : undefined;
      const worth = activity ? suits(activities, from, drop.isForwards, activity) : 0;
      if (worth > 0) found.set(entry, worth);
    }
    return found;
  }, [entries, drop, activities]);
}
