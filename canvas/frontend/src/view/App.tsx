// The editor as a whole: opens the workflow, or says why not; puts palette, canvas and panel side by side.
import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import {
  Component,
  lazy,
  type ReactElement,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useChecking } from "../behaviours/checking";
import { duplicate, removeChosen, useClipboard } from "../behaviours/clipboard";
import { useDrafting } from "../behaviours/drafting";
import { bind, useKeyboard } from "../behaviours/keyboard";
import { arrange } from "../behaviours/layout";
import { useNoticing } from "../behaviours/noticing";
import { addOffers } from "../behaviours/offers";
import { open } from "../behaviours/opening";
import { useRegions } from "../behaviours/regions";
import { save } from "../behaviours/saving";
import { toggleSuggestions } from "../behaviours/suggesting";
import { watch } from "../behaviours/watching";
import type { Wanted } from "../model/changes";
import { isStep, placeOf, SIZE, sizeOf } from "../model/document";
import { useRun } from "../run";
import { Refused } from "../server/requests";
import { canvasNow, editor, say, useEditor } from "../store";
import { useSuggesting } from "../suggestions";
import { closeLook, openHistory, useLook } from "../versions";
import { FirstSentence } from "./describe/FirstSentence";
import { Finder } from "./Finder";
import { addAt, connectChosen, Flow, follow, sizeWanted } from "./Flow";
import { Palette } from "./Palette";
import { Panel } from "./Panel";
import { Picker } from "./Picker";
import { Problems } from "./Problems";
import { RunStrip } from "./run/RunStrip";
import { Toolbar } from "./Toolbar";
import { Notices } from "./versions/Notices";

const Conflict = lazy(() => import("./versions/Conflict"));
const History = lazy(() => import("./versions/History"));
const Pair = lazy(() => import("./versions/Pair"));
const RunDialog = lazy(() => import("./run/RunDialog"));
const Describe = lazy(() => import("./describe/Describe"));
const Suggestions = lazy(() => import("./suggest/Suggestions"));
const RunDock = lazy(() => import("./run/RunDock"));

export function App({
  workflow,
  mayEdit,
  mayRun,
}: {
  workflow: string;
  mayEdit: boolean;
  mayRun: boolean;
}): ReactElement {
  const [fault, setFault] = useState<unknown>(null);
  const [isOpen, setOpen] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    setFault(null);
    open(workflow, mayEdit, mayRun, control.signal)
      .then(() => {
        setOpen(true);
        const run = new URLSearchParams(location.search).get("run");
        if (run) watch(run);
      })
      .catch((error: unknown) => control.signal.aborted || setFault(error));
    return () => control.abort();
  }, [workflow, mayEdit, mayRun, tries]);
  if (fault) return <NotOpened fault={fault} onRetry={() => setTries(tries + 1)} />;
  if (!isOpen) return <p className="canvas-message quiet">Opening the canvas…</p>;
  return (
    <ReactFlowProvider>
      <Workbench />
    </ReactFlowProvider>
  );
}

function NotOpened({ fault, onRetry }: { fault: unknown; onRetry: () => void }): ReactElement {
  const status = fault instanceof Refused ? fault.status : -1;
  const message = fault instanceof Error ? fault.message : String(fault);
  const here = encodeURIComponent(location.pathname + location.search);
  return (
    <div className="canvas-message" role="alert">
      <h1>{status === 404 ? "There is no such workflow" : "The canvas could not be opened"}</h1>
      <p className="quiet">
        {status === 404
          ? "It may have been deleted, or belong to another customer."
          : status === 403
            ? "Your role does not let you read workflows here."
            : message}
      </p>
      <div className="row center">
        {status === 401 ? (
          <a className="button primary" href={`/ui/sign-in?next=${here}`}>
            Sign in
          </a>
        ) : (
          status !== 404 &&
          status !== 403 && (
            <button type="button" className="button primary" onClick={onRetry}>
              Try again
            </button>
          )
        )}
        <a className="button" href="/ui/workflows">
          All workflows
        </a>
      </div>
    </div>
  );
}

function Workbench(): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const mayRun = useEditor((state) => state.mayRun);
  const isEmpty = useEditor((state) => state.history.present.nodes.length === 0);
  const saving = useEditor((state) => state.saving);
  const isWatched = useRun((run) => run.execution !== "");
  const isSuggesting = useSuggesting((state) => state.state !== "closed");
  const [sentence, setSentence] = useState<string | null>(null); // that the dialog begins with
  const [isDeferred, setDeferred] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const [isListed, setListed] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const flow = useReactFlow();
  const look = useLook();
  useDrafting();
  useNoticing();
  useChecking();
  useClipboard();

  const fit = useCallback(() => void flow.fitView({ padding: 0.1, maxZoom: 1, duration: 200 }), [flow]);
  const deeds = useMemo(
    () => ({
      save: () => void save(),
      remove: removeChosen,
      duplicate,
      arrange: () => {
        if (editor.getState().mayEdit) void arrange(editor.getState().nodes).then(fit);
      },
      fit,
      add: () => search.current?.focus(),
      connect: connectChosen,
      find: () => setFinding(true),
      run: () => editor.getState().mayRun && setRunning(true),
      problems: () => setListed((listed) => !listed),
      conflict: () => setDeferred(false),
      describe: () => editor.getState().mayEdit && setSentence(""),
    }),
    [fit],
  );
  useKeyboard(deeds);
  useRegions();
  useEffect(() => bind("h", openHistory), []);
  useEffect(() => bind("s", toggleSuggestions), []);
  useEffect(addOffers, []);
  useEffect(() => bind("e", deeds.describe), [deeds]);

  // Beside what is chosen and connected to it; else in the middle of what is seen.
  const pick = useCallback(
    (wanted: Wanted) => {
      const { nodes } = editor.getState();
      const canvas = canvasNow();
      const before = nodes.size === 1 ? canvas.nodes.find((node) => nodes.has(node.key)) : undefined;
      if (before && isStep(before) && wanted.kind !== "start" && wanted.kind !== "note") {
        const from = placeOf(before, canvas.nodes.indexOf(before));
        const [own, other] = [sizeOf(before), sizeWanted(wanted)];
        const place = { x: from.x + own.width + 72, y: from.y + (own.height - other.height) / 2 };
        const taken = new Set(canvas.nodes.map((node, index) => `${placeOf(node, index).x} ${placeOf(node, index).y}`));
        while (taken.has(`${place.x} ${place.y}`)) place.y += SIZE.height + 36;
        addAt(wanted, place, before.key);
        follow(flow, place);
      } else {
        const box = surface.current?.getBoundingClientRect();
        const middle = flow.screenToFlowPosition({
          x: (box?.left ?? 0) + (box?.width ?? 800) / 2,
          y: (box?.top ?? 0) + (box?.height ?? 600) / 2,
        });
        const count = canvas.nodes.length % 8;
        addAt(wanted, { x: middle.x - SIZE.width / 2 + count * 24, y: middle.y - SIZE.height / 2 + count * 24 });
      }
    },
    [flow],
  );
  useEffect(() => {
    if (saving.state !== "conflict") setDeferred(false);
  }, [saving]);

  return (
    <div className={`workbench${mayEdit ? "" : " read-only"}`}>
      <Toolbar deeds={deeds} />
      <RunStrip />
      {mayEdit && <Palette onPick={pick} search={search} />}
      <div className="surface" ref={surface}>
        <Flow onArrange={deeds.arrange} />
        {isEmpty && (
          <div className="empty-canvas">
            <h2>Nothing is drawn yet</h2>
            <p>
              {mayEdit
                ? "Choose a first step on the left, or drag one here. Pull from its right side to what comes next."
                : "Editors can draw here."}
            </p>
            {mayEdit && <FirstSentence onSay={setSentence} />}
            {mayEdit && (
              <button
                type="button"
                className="button"
                onClick={() => pick({ kind: "start", name: "start", label: "Start" })}
              >
                Begin with a start
              </button>
            )}
          </div>
        )}
        <Notices />
        {isFinding && <Finder onClose={() => setFinding(false)} />}
        {isListed && <Problems onClose={() => setListed(false)} />}
        <Suspense>{mayEdit && isSuggesting && <Suggestions />}</Suspense>
        <Suspense>
          {mayEdit && sentence !== null && (
            <Describe
              first={sentence}
              onClose={() => setSentence(null)}
              onPut={() => {
                setSentence(null);
                requestAnimationFrame(fit);
              }}
            />
          )}
        </Suspense>
      </div>
      <Panel />
      <Picker />
      <Suspense>{isWatched && <RunDock />}</Suspense>
      <Suspense>{mayRun && isRunning && <RunDialog onClose={() => setRunning(false)} />}</Suspense>
      <Suspense>
        {saving.state === "conflict" && !isDeferred && <Conflict saving={saving} onLater={() => setDeferred(true)} />}
      </Suspense>
      <Suspense>{look.kind === "history" && <History onClose={closeLook} />}</Suspense>
      <Suspense>{look.kind === "pair" && <Pair pair={look.pair} onClose={closeLook} />}</Suspense>
      <Note />
    </div>
  );
}

export function Note(): ReactElement | null {
  const note = useEditor((state) => state.note);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (!note) return;
    setShown(true);
    const timer = window.setTimeout(() => setShown(false), note.isBad ? 7000 : 2500);
    return () => window.clearTimeout(timer);
  }, [note]);
  return (
    <div className="note-area" role="status" aria-live="polite">
      {note && isShown && <div className={`toast${note.isBad ? " bad" : ""}`}>{note.text}</div>}
    </div>
  );
}

// What nobody foresaw is told, and the draft in this browser is still there.
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override componentDidCatch(error: Error): void {
    say(error.message, true);
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="canvas-message" role="alert">
        <h1>The editor stopped</h1>
        <p className="quiet">{error.message}</p>
        <p>What you drew is kept in this browser.</p>
        <button type="button" className="button primary" onClick={() => location.reload()}>
          Open it again
        </button>
      </div>
    );
  }
}
