// What can be put on the canvas, grouped and searchable: click it in, or drag it to where it belongs.
import { type ReactElement, type RefObject, useMemo, useState } from "react";
import type { Wanted } from "../model/changes";
import { squash } from "../model/document";
import { useEditor } from "../store";
import { DRAGGED } from "./Flow";
import { Icon } from "./icons";

export interface Entry {
  wanted: Wanted;
  group: string;
  icon: string;
  about: string;
  words: string;
}

const FLOW: Entry[] = [
  entry({ kind: "start", name: "start", label: "Start" }, "start", "Where the run begins; holds its default inputs"),
  entry({ kind: "end", name: "end", label: "End" }, "end", "Where the run is over"),
  entry({ kind: "state", name: "Wait", label: "Wait" }, "wait", "Waits for a time, without holding a worker"),
  entry(
    { kind: "state", name: "WaitForSignal", label: "Wait for signal" },
    "waitforsignal",
    "Waits until somebody or something sends a signal",
  ),
  entry(
    { kind: "state", name: "Workflow", label: "Workflow" },
    "workflow",
    "Runs another workflow and waits for its end",
  ),
  entry({ kind: "state", name: "Fail", label: "Fail" }, "fail", "Ends the run as failed; nothing comes after it"),
  entry({ kind: "note", name: "note", label: "Note" }, "note", "A text for those who read the drawing; runs nothing"),
];

function entry(wanted: Wanted, icon: string, about: string): Entry {
  return { wanted, group: "flow", icon, about, words: `${wanted.label} ${about}`.toLowerCase() };
}

const ACRONYMS = new Set(["HTTP", "LLM", "RAG", "URL", "API"]);

// "LLMBatchInferenceActivity" as people read it: "LLM batch inference".
export function readable(name: string): string {
  const words = name
    .replace(/Activity$/, "")
    .replace(/([a-z0-9])([A-Z])|([A-Z]+)(?=[A-Z][a-z])/g, "$1$3 $2")
    .split(" ");
  const spoken = words.map((word, index) => {
    if (ACRONYMS.has(word.toUpperCase())) return word.toUpperCase();
    return index && !/^[A-Z]{2,}$/.test(word) ? word.toLowerCase() : word;
  });
  return spoken.join(" ").replace(/\bpre check\b/, "pre-check");
}

export function useEntries(): Entry[] {
  const activities = useEditor((state) => state.activities);
  return useMemo(() => {
    const made = activities.all.map((activity): Entry => {
      const label = readable(activity.name);
      const words = [label, activity.name, activity.category, activity.description, ...activity.keywords];
      const wanted: Wanted = { kind: "activity", name: activity.name, label };
      return {
        wanted,
        group: activity.category,
        icon: activity.category,
        about: activity.description,
        words: words.join(" ").toLowerCase(),
      };
    });
    return [
      ...FLOW,
      ...made.sort((a, b) => a.group.localeCompare(b.group) || a.wanted.label.localeCompare(b.wanted.label)),
    ];
  }, [activities]);
}

export function found(entries: Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((one) =>
    words.every((word) => one.words.includes(word) || squash(one.wanted.name).includes(squash(word) || word)),
  );
}

export function Palette({
  onPick,
  search,
}: {
  onPick: (wanted: Wanted) => void;
  search: RefObject<HTMLInputElement | null>;
}): ReactElement {
  const [text, setText] = useState("");
  const entries = found(useEntries(), text);
  const groups = [...new Set(entries.map((one) => one.group))];
  return (
    <aside className="palette" aria-label="What can be added">
      <div className="search">
        <Icon name="search" />
        <input
          ref={search}
          type="search"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            const first = entries[0];
            if (event.key === "Enter" && first) {
              onPick(first.wanted);
              setText("");
            } else if (event.key === "Escape") {
              setText("");
              event.currentTarget.blur();
            }
          }}
          placeholder="Add a step (a)"
          aria-label="Search what can be added; Enter adds the first"
          data-search
        />
      </div>
      <div className="scroll">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group === "llm" ? "LLM" : group}</h3>
            {entries
              .filter((one) => one.group === group)
              .map((one) => (
                <button
                  key={one.wanted.name}
                  type="button"
                  className="entry"
                  title={one.about}
                  data-category={one.icon}
                  draggable
                  onDragStart={(event) => {
                    event.dataTransfer.setData(DRAGGED, JSON.stringify(one.wanted));
                    event.dataTransfer.effectAllowed = "copy";
                  }}
                  onClick={() => onPick(one.wanted)}
                >
                  <span className="badge">
                    <Icon name={one.icon} />
                  </span>
                  <span>{one.wanted.label}</span>
                </button>
              ))}
          </section>
        ))}
        {!entries.length && <p className="quiet small">Nothing is called that.</p>}
      </div>
    </aside>
  );
}
