// The run that is watched in one line: how it stands and is connected, and what may be done to it.
import { type ReactElement, useState } from "react";
import { runAgain, showRun, steer } from "../../behaviours/steering";
import { forgetRun } from "../../behaviours/watching";
import { isOpen } from "../../model/run";
import { isOver, rights, useRun } from "../../run";
import { useEditor } from "../../store";
import { Icon } from "../icons";
import "./run.css";

const TONE: Record<string, string> = {
  success: "good",
  failed: "bad",
  timed_out: "bad",
  running: "busy",
  waiting: "wait",
  paused: "wait",
};
const CONNECTION = {
  none: "",
  connecting: "connecting",
  live: "live",
  lost: "connection lost; trying again",
  over: "",
  refused: "",
};

// `isOwnPage`: on the page of the run, which has its name and its deeds above.
export function RunStrip({ isOwnPage = false }: { isOwnPage?: boolean }): ReactElement | null {
  const execution = useRun((run) => run.execution);
  const status = useRun((run) => run.status);
  const connection = useRun((run) => run.connection);
  const message = useRun((run) => run.message || run.lines.at(-1)?.message);
  const version = useRun((run) => run.version);
  const saved = useEditor((state) => state.saved.version);
  const asked = useRun((run) => run.gates[0]);
  const gates = useRun((run) => run.gates.length);
  if (!execution) return null;
  return (
    <section
      className={`run-strip tone-${TONE[status] ?? "idle"}`}
      aria-label="The run that is watched"
      data-status={status}
      data-connection={connection}
    >
      <span className="status">
        {status.replace("_", " ") || (connection === "refused" ? "not shown" : "starting")}
      </span>
      {!isOwnPage && (
        <a href={`/ui/executions/${execution}`} className="mono" title="The page of this run">
          {execution.slice(-8)}
        </a>
      )}
      <Counts />
      {version > 0 && version !== saved && (
        <span className="quiet nowrap">
          of version {version}; drawn is {saved}
        </span>
      )}
      <span className="clip" dir="auto">
        {message}
      </span>
      {asked && (
        <button type="button" className="button small-button" onClick={() => showRun(asked.state)}>
          <Icon name="approval" />
          {gates === 1 ? "A decision is asked for" : `${gates} decisions are asked for`}
        </button>
      )}
      <span className="quiet nowrap connection-word" role="status">
        {CONNECTION[connection]}
      </span>
      {!isOwnPage && <Deeds />}
      {!isOwnPage && (
        <button
          type="button"
          className="plain"
          title="Stop watching"
          onClick={() => {
            forgetRun();
            history.replaceState(null, "", location.pathname);
          }}
        >
          <Icon name="close" />
          <span className="hidden">Stop watching</span>
        </button>
      )}
    </section>
  );
}

function Counts(): ReactElement | null {
  const text = useRun((run) => {
    const fates = [...run.nodes.values()];
    const count = (isMeant: (status: string) => boolean) => fates.filter((fate) => isMeant(fate.status)).length;
    const failed = count((status) => status === "failed" || status === "timed_out");
    const open = count(isOpen);
    const done = count((status) => status === "success");
    return [done && `${done} done`, open && `${open} under way`, failed && `${failed} failed`]
      .filter(Boolean)
      .join(", ");
  });
  return text ? <span className="quiet nowrap">{text}</span> : null;
}

// Where the button was that asked, so that the keyboard goes on from there.
function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}

function Deeds(): ReactElement | null {
  const execution = useRun((run) => run.execution);
  const status = useRun((run) => run.status);
  const isPausing = useRun((run) => run.isPausing);
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  if (!status) return null;
  const act = (deed: () => Promise<boolean>) => {
    setBusy(true);
    void deed().finally(() => {
      setBusy(false);
      setAsking(false);
    });
  };
  const compare = (
    <a className="plain" href={`/ui/executions/${execution}/compare`} title="Compare with another run">
      <Icon name="compare" />
      <span className="hidden">Compare with another run</span>
    </a>
  );
  if (!rights.mayOperate) return compare;
  if (isOver(status)) {
    return (
      <>
        {compare}
        <button
          type="button"
          className="button small-button"
          disabled={isBusy}
          title="Run again with the same inputs"
          onClick={() => act(() => runAgain())}
        >
          <Icon name="again" />
          Run again
        </button>
      </>
    );
  }
  if (isAsking) {
    return (
      <>
        <span className="nowrap">Cancel this run?</span>
        <button
          type="button"
          className="button small-button danger"
          disabled={isBusy}
          onClick={() => act(() => steer("cancel"))}
        >
          Cancel the run
        </button>
        <button ref={focus} type="button" className="button small-button" onClick={() => setAsking(false)}>
          Let it run
        </button>
      </>
    );
  }
  return (
    <>
      {status === "paused" || isPausing ? (
        <button
          type="button"
          className="button small-button primary"
          disabled={isBusy}
          onClick={() => act(() => steer("resume"))}
        >
          <Icon name="start" />
          Resume
        </button>
      ) : (
        <button
          type="button"
          className="button small-button"
          disabled={isBusy}
          title="What runs now is let finish; then every branch stands still"
          onClick={() => act(() => steer("pause"))}
        >
          <Icon name="pause" />
          Pause
        </button>
      )}
      <button type="button" className="button small-button danger" onClick={() => setAsking(true)}>
        <Icon name="stop" />
        Cancel
      </button>
    </>
  );
}
