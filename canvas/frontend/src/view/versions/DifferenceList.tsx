// What is different, one by one: which element, which of its fields, what was there and what is there now.
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { type Difference, type FieldChange, spoken, summary } from "../../model/differences";
import { Icon } from "../icons";
import { SIGNS } from "./Compared";

const MOST = 300;
const MOST_FIELDS = 40;
const WHAT = { workflow: "workflow", node: "step", edge: "connection" };

export function sameDifference(one: Difference | null, other: Difference | null): boolean {
  return one?.what === other?.what && one?.key === other?.key;
}

// The difference after, or before, this one; from the last it goes on with the first.
export function stepped(list: Difference[], at: Difference | null, by: 1 | -1): Difference | null {
  const index = list.findIndex((one) => sameDifference(one, at));
  if (index < 0) return (by === 1 ? list[0] : list.at(-1)) ?? null;
  return list[(index + by + list.length) % list.length] ?? null;
}

export function DifferenceList({
  list,
  at,
  onChoose,
  beside,
}: {
  list: Difference[];
  at: Difference | null;
  onChoose: (one: Difference | null) => void;
  beside?: (one: Difference) => ReactNode; // what stands behind the name, such as who changed it
}): ReactElement {
  const shown = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (at) shown.current?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <section className="difference-list" aria-label="Differences">
      <header>
        <p className="grow" role="status">
          {list.length ? summary(list) : "No differences."}
        </p>
        <button
          type="button"
          className="plain"
          title="Previous difference (Shift n)"
          disabled={!list.length}
          onClick={() => onChoose(stepped(list, at, -1))}
        >
          <span aria-hidden="true">↑</span>
          <span className="hidden">Previous difference</span>
        </button>
        <button
          type="button"
          className="plain"
          title="Next difference (n)"
          disabled={!list.length}
          onClick={() => onChoose(stepped(list, at, 1))}
        >
          <span aria-hidden="true">↓</span>
          <span className="hidden">Next difference</span>
        </button>
      </header>
      <ul className="scroll">
        {list.slice(0, MOST).map((one) => {
          const isAt = sameDifference(one, at);
          return (
            <li key={`${one.what} ${one.key}`} className={`how-${one.how}`}>
              <button
                type="button"
                aria-expanded={one.fields.length ? isAt : undefined}
                aria-current={isAt || undefined}
                ref={isAt ? shown : undefined}
                onClick={() => onChoose(isAt ? null : one)}
              >
                <span className="sign" aria-hidden="true">
                  {SIGNS[one.how]}
                </span>
                <span className="grow">
                  <strong dir="auto">{one.name}</strong>
                  <span className="quiet small">
                    {WHAT[one.what]} {one.how}
                    {beside?.(one)}
                  </span>
                  {one.fields.length > 0 && !isAt && (
                    <span className="quiet mono small clip">
                      {one.fields
                        .slice(0, 4)
                        .map(({ path }) => path.join("."))
                        .join(", ")}
                    </span>
                  )}
                </span>
              </button>
              {isAt && one.fields.length > 0 && <Fields fields={one.fields} />}
            </li>
          );
        })}
        {list.length > MOST && <li className="quiet pad">and {list.length - MOST} more</li>}
      </ul>
    </section>
  );
}

function Fields({ fields }: { fields: FieldChange[] }): ReactElement {
  return (
    <dl className="field-changes">
      {fields.slice(0, MOST_FIELDS).map(({ path, before, after }) => (
        <div key={path.join("\n")}>
          <dt className="mono">{path.join(".")}</dt>
          <dd className="was" dir="auto">
            <span className="hidden">was</span>
            {spoken(path, before)}
          </dd>
          <dd className="is" dir="auto">
            <Icon name="arrow" />
            <span className="hidden">is</span>
            {spoken(path, after)}
          </dd>
        </div>
      ))}
      {fields.length > MOST_FIELDS && <p className="quiet small">and {fields.length - MOST_FIELDS} more fields</p>}
    </dl>
  );
}
