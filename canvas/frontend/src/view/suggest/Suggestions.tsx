// The list of suggested connections beside the canvas: why each, how sure, accept or not; by pointer or by keys.
import { useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, type ReactElement, useCallback, useEffect, useMemo, useRef } from "react";
import { accept, closeSuggestions, lookAt, reject, suggest } from "../../behaviours/suggesting";
import { type Canvas, labelOf } from "../../model/document";
import { textOr } from "../../model/json";
import { type Entry, standing } from "../../model/suggestions";
import { useCanvasAtRest } from "../../store";
import { useSuggesting } from "../../suggestions";
import { Icon } from "../icons";
import "./suggest.css";

// The list lies over the right of the canvas.
const BESIDE = { top: "80px", bottom: "80px", left: "60px", right: "420px" } as const;

export default function Suggestions(): ReactElement {
  const canvas = useCanvasAtRest();
  const suggesting = useSuggesting((state) => state);
  const open = useMemo(() => standing(canvas, suggesting.entries), [canvas, suggesting.entries]);
  const list = useRef<HTMLUListElement>(null);
  const panel = useRef<HTMLElement>(null);
  const flow = useReactFlow();
  const { state, at, method } = suggesting;

  // The one that is looked at has the focus; where there is none the list itself, for Escape.
  const takeFocus = useCallback(
    () => (list.current?.querySelector<HTMLElement>("[tabindex='0']") ?? panel.current)?.focus(),
    [],
  );
  useEffect(() => void (state !== "closed" && takeFocus()), [state, takeFocus]);
  const looked = open.find((one) => one.id === at);
  const [source, target] = [looked?.source, looked?.target];
  useEffect(() => {
    if (!source || !target) return;
    const there = [source, target].filter((id) => flow.getNode(id));
    if (there.length)
      void flow.fitView({ nodes: there.map((id) => ({ id })), padding: BESIDE, maxZoom: 1, duration: 250 });
  }, [source, target, flow]);

  function press(event: KeyboardEvent): void {
    const index = Math.max(
      0,
      open.findIndex((one) => one.id === at),
    );
    const current = open[index];
    const isOnItem = event.target instanceof HTMLElement && event.target.matches("li[data-id]");
    const go = (to: number) => {
      const next = open[Math.max(0, Math.min(open.length - 1, to))];
      if (next) lookAt(next);
      if (next) list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(next.id)}"]`)?.focus();
    };
    if (event.key === "Escape") closeSuggestions();
    else if (event.key === "ArrowDown") go(index + 1);
    else if (event.key === "ArrowUp") go(index - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(open.length - 1);
    else if (current && isOnItem && (event.key === "Enter" || event.key === "y")) decide(accept, [current]);
    else if (current && isOnItem && (event.key === "Delete" || event.key === "n")) decide(reject, [current]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // What was pressed or had the focus goes with its entry.
  function decide(how: (entries: Entry[]) => void, entries: Entry[]): void {
    how(entries);
    requestAnimationFrame(takeFocus);
  }

  return (
    <section
      className="suggestions"
      aria-label="Suggested connections"
      aria-busy={state === "asking"}
      ref={panel}
      tabIndex={-1}
      onKeyDown={press}
    >
      <header>
        <div className="grow">
          <h2>Suggested connections{open.length ? ` (${open.length})` : ""}</h2>
          {state === "open" && (
            <p className={`status tone-${method === "model" ? "good" : "idle"}`}>
              <Icon name={method === "model" ? "llm" : "link"} />
              {method === "model" ? "a model’s proposals, checked" : "matched by types, no model"}
            </p>
          )}
        </div>
        <button type="button" className="plain" onClick={closeSuggestions} title="Close (Esc)">
          <Icon name="close" />
          <span className="hidden">Close</span>
        </button>
      </header>
      {state === "asking" && (
        <p className="pad quiet" role="status">
          Looking for what fits…
        </p>
      )}
      {state === "failed" && (
        <div className="pad" role="alert">
          <p className="problem-text">{suggesting.message}</p>
          <button type="button" className="button" onClick={() => void suggest(suggesting.preserve)}>
            Try again
          </button>
        </div>
      )}
      {state === "open" && (
        <>
          {open.length > 0 && (
            <div className="row all">
              <button type="button" className="button primary" onClick={() => decide(accept, open)}>
                <Icon name="check" />
                Accept all
              </button>
              <button type="button" className="button" onClick={() => decide(reject, open)}>
                Reject all
              </button>
            </div>
          )}
          <ul className="scroll entries" ref={list} aria-label="Suggestions">
            {open.map((one, index) => (
              <Item
                key={one.id}
                entry={one}
                canvas={canvas}
                isLookedAt={looked ? one.id === at : index === 0}
                onLook={() => lookAt(one)}
                onDecide={decide}
              />
            ))}
            {open.length === 0 && (
              <li className="quiet pad">
                {suggesting.entries.length ? "All of them are dealt with." : "Nothing is missing that could be found."}
              </li>
            )}
          </ul>
          <footer className="why">
            {suggesting.reasoning && <p dir="auto">{suggesting.reasoning}</p>}
            {suggesting.alerts.map((text) => (
              <p key={text} className="alert" dir="auto">
                {text}
              </p>
            ))}
            {suggesting.leftOut.length > 0 && (
              <details>
                <summary>{suggesting.leftOut.length} proposals are left out</summary>
                <ul>
                  {suggesting.leftOut.map((text) => (
                    <li key={text} dir="auto">
                      {text}
                    </li>
                  ))}
                </ul>
              </details>
            )}
            <button type="button" className="plain again" onClick={() => void suggest(!suggesting.preserve)}>
              <Icon name="again" />
              {suggesting.preserve ? "Propose the whole wiring anew" : "Propose only what is missing"}
            </button>
          </footer>
        </>
      )}
    </section>
  );
}

function Item({
  entry,
  canvas,
  isLookedAt,
  onLook,
  onDecide,
}: {
  entry: Entry;
  canvas: Canvas;
  isLookedAt: boolean;
  onLook: () => void;
  onDecide: (how: (entries: Entry[]) => void, entries: Entry[]) => void;
}): ReactElement {
  const { wording, what } = entry;
  const called = (key: string) => {
    const node = canvas.nodes.find((one) => one.key === key);
    return node ? labelOf(node) : key;
  };
  const [from, to] = [called(entry.source), called(entry.target)];
  const [gives, needs] = [textOr(wording.source_output), textOr(wording.target_input)];
  const sure = Math.round(entry.confidence * 100);
  return (
    <li
      className={isLookedAt ? "looked-at" : ""}
      data-id={entry.id}
      tabIndex={isLookedAt ? 0 : -1}
      onFocus={onLook}
      aria-label={`${what === "remove" ? "Remove " : ""}${from} → ${to}`}
    >
      <p className="ends" dir="auto">
        {what === "remove" && <span className="status tone-bad">remove</span>}
        <strong>{from}</strong> <Icon name="arrow" /> <strong>{to}</strong>
      </p>
      {entry.label && (
        <p className="small" dir="auto">
          {entry.label}
        </p>
      )}
      {what === "add" && (
        <p className="sure">
          <meter min={0} max={100} value={sure} aria-label="Confidence" />
          <span>{sure} % sure</span>
          <span className="quiet">{entry.type}</span>
        </p>
      )}
      {(gives || needs) && (
        <p className="small quiet fields" dir="auto">
          {gives} {gives && needs && "→"} {needs}
        </p>
      )}
      {textOr(wording.semantic_match) && (
        <p className="small quiet" dir="auto">
          {textOr(wording.semantic_match)}
        </p>
      )}
      {entry.warning && (
        <p className="small status tone-wait" dir="auto">
          <Icon name="warning" />
          {entry.warning}
        </p>
      )}
      {textOr(wording.transformer_needed) && (
        <p className="small quiet" dir="auto">
          {textOr(wording.transformer_needed)}
        </p>
      )}
      <div className="row">
        <button type="button" className="button small" onClick={() => onDecide(accept, [entry])} title="Accept (Enter)">
          <Icon name="check" />
          {what === "remove" ? "Remove it" : "Accept"}
        </button>
        <button type="button" className="button small" onClick={() => onDecide(reject, [entry])} title="Reject (Del)">
          <Icon name="close" />
          {what === "remove" ? "Keep it" : "Reject"}
        </button>
      </div>
    </li>
  );
}
