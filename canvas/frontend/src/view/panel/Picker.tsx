// A list to pick from by typing, by arrow keys or with the mouse; what is looked at can be shown below it.
import { type ReactElement, type ReactNode, useEffect, useId, useRef, useState } from "react";

export interface Choice {
  key: string;
  words: string; // what typing is compared with
  isFaint: boolean;
  content: ReactNode;
}

const MOST = 200; // choices shown at once

// What has every word that was typed, in the order given.
export function found<T extends { words: string }>(choices: T[], typed: string): T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter((choice) => words.every((word) => choice.words.toLowerCase().includes(word)));
}

export function Picker({
  label,
  choices,
  nothing,
  onPick,
  onClose,
  about,
}: {
  label: string;
  choices: Choice[];
  nothing: string; // said when there is nothing to pick at all
  onPick: (key: string) => void;
  onClose: () => void;
  about?: (key: string) => ReactNode;
}): ReactElement {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => search.current?.focus(), []);
  const shown = found(choices, typed).slice(0, MOST);
  const now = shown[Math.min(at, shown.length - 1)];
  useEffect(() => {
    if (now) list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [now]);
  function press(event: React.KeyboardEvent): void {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Home" && !typed) setAt(0);
    else if (event.key === "End" && !typed) setAt(shown.length - 1);
    else if (event.key === "Enter") {
      if (now) onPick(now.key);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    } else return;
    event.preventDefault();
  }
  return (
    <section className="sources" aria-label={label}>
      <input
        ref={search}
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={now ? `${id}-${shown.indexOf(now)}` : undefined}
        aria-label={`Search: ${label}`}
        placeholder="Search"
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} ref={list} className="choices" role="listbox" aria-label={label} tabIndex={-1}>
        {shown.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={choice.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={choice === now}
            className={`source${choice.isFaint ? " unfit" : ""}`}
            onMouseMove={() => setAt(index)}
            onClick={() => onPick(choice.key)}
          >
            {choice.content}
          </div>
        ))}
      </div>
      {!choices.length && <p className="quiet small">{nothing}</p>}
      {choices.length > 0 && !shown.length && <p className="quiet small">Nothing is called that.</p>}
      {now && about && <div className="picked-about">{about(now.key)}</div>}
    </section>
  );
}
