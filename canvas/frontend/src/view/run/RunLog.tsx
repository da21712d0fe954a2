// The current lines of the run, or of the chosen node: the newest ones, followed until somebody scrolls up.
import { type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { labelOf } from "../../model/document";
import { useRun } from "../../run";
import { useEditor } from "../../store";
import { useRows } from "./rows";

const HEIGHT = 20;
const LEVELS = ["debug", "info", "warn", "error"];

export function RunLog(): ReactElement {
  const execution = useRun((run) => run.execution);
  const lines = useRun((run) => run.lines);
  const chosen = useEditor((state) => (state.nodes.size === 1 ? [...state.nodes][0] : undefined));
  const nodes = useEditor((state) => state.history.present.nodes);
  const [level, setLevel] = useState("info");
  const [isNodeOnly, setNodeOnly] = useState(true);
  const [isFollowing, setFollowing] = useState(true);
  const scroller = useRef<HTMLDivElement>(null);
  const labels = useMemo(() => new Map(nodes.map((node) => [node.key, labelOf(node)])), [nodes]);
  const only = isNodeOnly && chosen && labels.has(chosen) ? chosen : "";
  const shown = useMemo(() => {
    const least = LEVELS.indexOf(level);
    return lines.filter((line) => (!only || line.node === only) && LEVELS.indexOf(line.level) >= least);
  }, [lines, only, level]);
  const { first, last } = useRows(scroller, HEIGHT, shown.length);
  useEffect(() => {
    const box = scroller.current;
    if (box && isFollowing) box.scrollTop = box.scrollHeight;
  }, [shown, isFollowing]);
  return (
    <div className="run-log">
      <div className="row log-tools">
        <label className="row">
          <input type="checkbox" checked={isNodeOnly} onChange={(event) => setNodeOnly(event.target.checked)} />
          Only the chosen node
        </label>
        {only && (
          <span className="quiet clip" dir="auto">
            {labels.get(only)}
          </span>
        )}
        <label>
          <span className="hidden">Level</span>
          <select value={level} onChange={(event) => setLevel(event.target.value)}>
            <option value="info">info up</option>
            <option value="warn">warnings up</option>
            <option value="error">errors</option>
          </select>
        </label>
        <button
          type="button"
          className="button small-button"
          aria-pressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        >
          Follow
        </button>
        <a href={`/ui/executions/${execution}`} className="quiet">
          {lines.length >= 2000 ? "The newest 2,000 lines; the whole log" : "The whole log"}
        </a>
      </div>
      <div
        ref={scroller}
        className="log-rows"
        role="log"
        aria-live="off"
        aria-label="Log lines"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        tabIndex={0}
        onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
        onKeyDown={(event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && setFollowing(false)}
      >
        {!shown.length && <p className="quiet pad">{lines.length ? "No line fits." : "Nothing has been said yet."}</p>}
        <div className="row-window" style={{ height: shown.length * HEIGHT }}>
          {shown.slice(first, last).map((line, index) => (
            <div
              key={line.cursor}
              className="log-row"
              data-level={line.level}
              style={{ top: (first + index) * HEIGHT }}
            >
              <time>{line.timestamp.slice(11, 19)}</time>
              <span className="of" dir="auto" title={line.node}>
                {labels.get(line.node) ?? line.node}
              </span>
              <span className="level">{line.level}</span>
              <span dir="auto" title={line.message}>
                {line.message}
              </span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
