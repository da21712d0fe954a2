// Every version there was: who saved it when and what it changed; looked at, compared with any other, restored.
import { type ReactElement, useCallback, useEffect, useMemo, useState } from "react";
import { versionCanvas } from "../../behaviours/opening";
import { save } from "../../behaviours/saving";
import { type Difference, differences } from "../../model/differences";
import { type Canvas, isSame } from "../../model/document";
import { isObject, type JsonObject, textOr } from "../../model/json";
import { inWords } from "../../model/versionWords";
import { request, requestList } from "../../server/requests";
import { change, editor, isDirty, say, useEditor } from "../../store";
import { Icon } from "../icons";
import { Compared } from "./Compared";
import { DifferenceList, stepped } from "./DifferenceList";
import { Sheet } from "./Sheet";
import { spokenTime } from "./times";

const PAGE = 50;
// Versions count from 1; these stand for what is none.
const NOW = -1; // what is drawn now
const BEFORE = -2; // the version before the one that is looked at
const NOTHING = -3;

export default function History({ onClose }: { onClose: () => void }): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const present = useEditor((state) => state.history.present);
  const dirty = useEditor(isDirty);
  const mayEdit = useEditor((state) => state.mayEdit);
  const newest = useEditor((state) => state.saved.version);
  const [versions, setVersions] = useState<JsonObject[]>([]);
  const [hasMore, setMore] = useState(true);
  const [fault, setFault] = useState("");
  const [shown, setShown] = useState(newest);
  const [against, setAgainst] = useState(BEFORE);
  const [canvases, setCanvases] = useState<ReadonlyMap<number, Canvas>>(new Map());
  const [at, setAt] = useState<Difference | null>(null);

  const read = useCallback(
    async (page: number) => {
      try {
        const found = await requestList(`/workflows/${workflow}/versions?limit=${PAGE}&page=${page}`);
        setVersions((before) => [...(page === 1 ? [] : before), ...found]);
        setMore(found.length === PAGE);
      } catch (error) {
        setFault(error instanceof Error ? error.message : String(error));
      }
    },
    [workflow],
  );
  useEffect(() => void read(1), [read]);

  const other = against === BEFORE ? (shown === NOW ? newest : shown - 1) : against;
  const canvasOf = (version: number): Canvas | undefined => (version === NOW ? present : canvases.get(version));
  useEffect(() => {
    for (const version of [shown, other]) {
      if (version < 1 || canvases.has(version)) continue;
      request("GET", `/workflows/${workflow}/versions/${version}`)
        .then((answer) => {
          const canvas = versionCanvas(answer, editor.getState().saved.canvas);
          setCanvases((before) => new Map([...before, [version, canvas]]));
        })
        .catch((error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
    }
  }, [shown, other, workflow, canvases]);

  const after = canvasOf(shown);
  const before =
    other === NOTHING || other === shown || (other < 1 && other !== NOW) ? null : (canvasOf(other) ?? null);
  const list = useMemo(() => (before && after ? differences(before, after) : []), [before, after]);
  const isCurrent = after ? isSame(after, present) : true;

  function show(version: number): void {
    setShown(version);
    setAt(null);
  }
  async function restore(): Promise<void> {
    if (!after) return;
    // The status is not drawn: a version that was active once is not switched on again by looking back.
    change((now) => ({ ...after, status: now.status }));
    onClose();
    if (!(await save(`restored from version ${shown}`))) say(`Version ${shown} is drawn again, but not saved.`, true);
  }
  const named = (version: number): string => (version === NOW ? "what is drawn now" : `version ${version}`);
  const about =
    before && other !== NOTHING
      ? `${cap(named(shown))}, and what is different from ${named(other)}.`
      : cap(named(shown));
  return (
    <Sheet
      label="Versions"
      title={`History of ${present.name || "this workflow"}`}
      about={`${about}${about.endsWith(".") ? "" : "."} Nothing here is ever rewritten.`}
      onClose={onClose}
      onStep={(by) => setAt((now) => stepped(list, now, by))}
    >
      <div className="sheet-body three">
        <nav className="version-list scroll" aria-label="Versions">
          <ol reversed>
            {dirty && (
              <Entry name="Drawn now" words="not saved yet" isShown={shown === NOW} onClick={() => show(NOW)} />
            )}
            {versions.map((one) => {
              const version = Number(one.version);
              return (
                <Entry
                  key={version}
                  name={`v${version}`}
                  status={textOr(one.status)}
                  isRunnable={one.runnable === true}
                  by={textOr(one.createdBy)}
                  at={textOr(one.createdAt)}
                  reason={textOr(one.reason)}
                  words={version === 1 ? "created" : inWords(isObject(one.changes) ? one.changes : null)}
                  isShown={shown === version}
                  onClick={() => show(version)}
                />
              );
            })}
          </ol>
          {fault && (
            <p className="problem-text pad" role="alert">
              {fault}
            </p>
          )}
          {hasMore && versions.length > 0 && (
            <button type="button" className="button wide" onClick={() => void read(versions.length / PAGE + 1)}>
              Show older ones
            </button>
          )}
        </nav>
        <div className="drawing">
          {after ? (
            <Compared
              key={shown}
              before={before}
              after={after}
              list={list}
              at={at}
              onChoose={(what, key) => setAt(list.find((one) => one.what === what && one.key === key) ?? null)}
            />
          ) : (
            <p className="canvas-message quiet">{fault ? "" : "Reading the version…"}</p>
          )}
        </div>
        <div className="sheet-side">
          <label className="field pad">
            Compared with
            <select value={against} onChange={(event) => setAgainst(Number(event.target.value))}>
              <option value={BEFORE}>{shown === NOW ? "the newest version" : "the version before"}</option>
              {shown !== NOW && <option value={NOW}>what is drawn now</option>}
              {versions
                .map((one) => Number(one.version))
                .filter((version) => version !== shown)
                .map((version) => (
                  <option key={version} value={version}>
                    version {version}
                  </option>
                ))}
              <option value={NOTHING}>nothing</option>
            </select>
          </label>
          {before ? (
            <DifferenceList list={list} at={at} onChoose={setAt} />
          ) : (
            <p className="quiet small pad">
              {after && `${after.nodes.length} nodes, ${after.edges.length} connections.`}
              {shown === 1 && against === BEFORE && " It is the first version."}
            </p>
          )}
          {shown !== NOW && (
            <div className="restore">
              {mayEdit ? (
                <button
                  type="button"
                  className="button primary wide"
                  disabled={isCurrent || !after}
                  onClick={() => void restore()}
                >
                  <Icon name="undo" />
                  Restore version {shown}
                </button>
              ) : (
                <p className="about">Restoring a version needs the role editor.</p>
              )}
              {mayEdit && (
                <p className="about">
                  {isCurrent
                    ? "It is what is drawn now."
                    : "It is drawn again and saved as a new version; undo takes it back."}
                </p>
              )}
            </div>
          )}
        </div>
      </div>
    </Sheet>
  );
}

function cap(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Entry({
  name,
  status = "",
  isRunnable = true,
  by = "",
  at = "",
  reason = "",
  words,
  isShown,
  onClick,
}: {
  name: string;
  status?: string;
  isRunnable?: boolean;
  by?: string;
  at?: string;
  reason?: string;
  words: string;
  isShown: boolean;
  onClick: () => void;
}): ReactElement {
  const tone = status === "active" ? "good" : "idle";
  return (
    <li>
      <button type="button" aria-current={isShown || undefined} onClick={onClick}>
        <span className="version-head">
          <strong>{name}</strong>
          {status && <span className={`status tone-${tone}`}>{status}</span>}
          {!isRunnable && <span className="status tone-wait">has errors</span>}
          {at && (
            <time className="quiet small" dateTime={at} title={new Date(at).toLocaleString()}>
              {spokenTime(at).replace(/^(at|on) /, "")}
            </time>
          )}
        </span>
        {by && (
          <span className="small" dir="auto">
            {by}
          </span>
        )}
        {reason && (
          <span className="small reason" dir="auto">
            {reason}
          </span>
        )}
        {words && (
          <span className="quiet small" dir="auto">
            {words}
          </span>
        )}
      </button>
    </li>
  );
}
