// Somebody else saved meanwhile: what they changed, what you changed, and what comes out when both are brought together.
import { type ReactElement, useMemo, useState } from "react";
import { keepMine, saveMerged, takeTheirs } from "../../behaviours/saving";
import { type Difference, differences, spoken, summary } from "../../model/differences";
import { type Clash, merge, type Side } from "../../model/merge";
import { type Saving, useEditor } from "../../store";
import { Icon } from "../icons";
import { Tab } from "../panel/Tab";
import { Compared } from "./Compared";
import { DifferenceList, stepped } from "./DifferenceList";
import { Sheet } from "./Sheet";
import { spokenTime } from "./times";

type Shown = "merged" | "theirs" | "mine" | "between";

export default function Conflict({
  saving,
  onLater,
}: {
  saving: Saving & { state: "conflict" };
  onLater: () => void;
}): ReactElement {
  const mine = useEditor((state) => state.history.present);
  const version = useEditor((state) => state.saved.version);
  const { theirs, base } = saving;
  const [tab, setTab] = useState<Shown>(base ? "merged" : "between");
  const [at, setAt] = useState<Difference | null>(null);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Side>>(new Map());
  const merged = useMemo(() => (base ? merge(base, mine, theirs.canvas, chosen) : null), [base, mine, theirs, chosen]);
  const theirChanges = useMemo(() => (base ? differences(base, theirs.canvas) : []), [base, theirs]);
  const myChanges = useMemo(() => (base ? differences(base, mine) : []), [base, mine]);
  const [from, to] = {
    merged: [base, merged?.canvas ?? mine],
    theirs: [base, theirs.canvas],
    mine: [base, mine],
    between: [theirs.canvas, mine],
  }[tab] as [typeof base, typeof mine];
  const list = useMemo(() => (from ? differences(from, to) : []), [from, to]);
  const who = useMemo(() => authors(theirChanges, myChanges), [theirChanges, myChanges]);
  const open = merged?.clashes.filter((clash) => !chosen.has(clash.id)) ?? [];
  const name = theirs.by || "Somebody else";

  function choose(clash: Clash, side: Side): void {
    setChosen(new Map([...chosen, [clash.id, side]]));
  }
  return (
    <Sheet
      label="Two versions"
      title={`${name} saved version ${theirs.version}${theirs.at ? ` ${spokenTime(theirs.at)}` : ""}`}
      about={
        base
          ? `You both began with version ${version}. Nothing of yours is lost or written before you choose.`
          : "Nothing of yours is lost or written before you choose."
      }
      onClose={onLater}
      onStep={(by) => setAt((now) => stepped(list, now, by))}
    >
      <div className="tabs" role="tablist" aria-label="What is shown">
        {base && <Tab name="merged" now={tab} set={setTab} text="Brought together" />}
        {base && <Tab name="theirs" now={tab} set={setTab} text={`They: ${summary(theirChanges) || "nothing"}`} />}
        {base && <Tab name="mine" now={tab} set={setTab} text={`You: ${summary(myChanges) || "nothing"}`} />}
        <Tab name="between" now={tab} set={setTab} text="From theirs to yours" />
      </div>
      <div className="sheet-body two">
        <div className="drawing">
          <Compared
            before={from}
            after={to}
            list={list}
            at={at}
            onChoose={(what, key) => setAt(list.find((one) => one.what === what && one.key === key) ?? null)}
          />
        </div>
        <div className="sheet-side">
          {tab === "merged" && merged && (
            <>
              {merged.clashes.length > 0 && (
                <section className="clashes scroll" aria-label="Both changed">
                  <h3>
                    Both of you changed{" "}
                    <span className="quiet">{open.length ? `${open.length} to choose` : "all chosen"}</span>
                  </h3>
                  {merged.clashes.map((clash) => (
                    <ClashChoice key={clash.id} clash={clash} side={chosen.get(clash.id)} onChoose={choose} />
                  ))}
                </section>
              )}
              {merged.renamed.map(({ from: old, to: now }) => (
                <p key={old} className="about pad">
                  Both of you added a step with the id <code>{old}</code>; yours becomes <code>{now}</code>.
                </p>
              ))}
            </>
          )}
          <DifferenceList
            list={list}
            at={at}
            onChoose={setAt}
            {...(tab === "merged" && {
              beside: (one: Difference) => `, by ${who.get(`${one.what} ${one.key}`) ?? "you"}`,
            })}
          />
        </div>
      </div>
      <footer className="sheet-foot">
        {open.length > 0 && (
          <span className="quiet small grow" role="status">
            To merge, choose {open.length === 1 ? "one more" : `${open.length} more`} above.
          </span>
        )}
        <button type="button" className="button" onClick={onLater}>
          Decide later
        </button>
        <button type="button" className="button" onClick={takeTheirs} title="Yours is one undo away">
          Take theirs
        </button>
        <button
          type="button"
          className={`button${merged ? "" : " primary"}`}
          onClick={() => void keepMine()}
          title={`Version ${theirs.version} stays in the history`}
        >
          Save mine over it
        </button>
        {merged && (
          <button
            type="button"
            className="button primary"
            disabled={open.length > 0}
            onClick={() => void saveMerged(merged.canvas)}
            title="Saves what is drawn under Brought together; yours alone is one undo away"
          >
            Merge and save
          </button>
        )}
      </footer>
    </Sheet>
  );
}

function ClashChoice({
  clash,
  side,
  onChoose,
}: {
  clash: Clash;
  side: Side | undefined;
  onChoose: (clash: Clash, side: Side) => void;
}): ReactElement {
  const whole = clash.path.length === 0;
  const told = (value: Clash["mine"]): string => {
    if (!whole) return spoken(clash.path, value);
    return value === undefined ? "removed" : "kept, with what was changed";
  };
  return (
    <fieldset className={side ? "clash" : "clash open"}>
      <legend>
        {!side && <Icon name="warning" />}
        <strong dir="auto">{clash.name}</strong> {!whole && <code>{clash.path.join(".")}</code>}
      </legend>
      {(["theirs", "mine"] as const).map((one) => (
        <label key={one}>
          <input type="radio" name={clash.id} checked={side === one} onChange={() => onChoose(clash, one)} />
          <span>
            <span className="small">{one === "theirs" ? "Theirs" : "Yours"}</span>{" "}
            <span className="mono small" dir="auto">
              {told(clash[one])}
            </span>
          </span>
        </label>
      ))}
      {!whole && (
        <p className="quiet small">
          Before: <span className="mono">{spoken(clash.path, clash.base)}</span>
        </p>
      )}
    </fieldset>
  );
}

// Who changed what, by element.
function authors(theirs: Difference[], mine: Difference[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const one of theirs) found.set(`${one.what} ${one.key}`, "them");
  for (const one of mine) {
    const key = `${one.what} ${one.key}`;
    found.set(key, found.has(key) ? "both" : "you");
  }
  return found;
}
