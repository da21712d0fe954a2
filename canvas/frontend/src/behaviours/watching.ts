// Follows a run over the log socket: frames say that something happened, REST says what. Without the socket it asks.

import { type JsonObject, textOr } from "../model/json";
import {
  type Attempt,
  type Fate,
  fateOf,
  itemsOf,
  listOf,
  readAttempt,
  readStanding,
  type Standing,
} from "../model/run";
import { type Way, waysOf, withSilent } from "../model/ways";
import { type Gate, isOver, type Line, NO_RUN, type Progress, rights, runStore } from "../run";
import { customer, Refused, request, requestList } from "../server/requests";
import { canvasNow, editor } from "../store";

const KEPT = 2000; // lines
const MOST = 20_000; // attempts
const OVERLAP = 64; // attempts that are asked for again: transactions end in another order than they begin
const RETRY = [500, 1000, 2000, 5000, 10000]; // ms
const GATHER = 250; // ms between two questions about states
const LARGE = 5000; // attempts, from which on less often is looked and drawn
const AGAIN = 2000; // ms until a question that was not answered is asked once more
const DRAW = 100; // ms between two drawings of lines
const APPROVAL = "approval:";

let watcher: Watcher | null = null;

export function forgetRun(): void {
  watcher?.stop();
  watcher = null;
  runStore.setState(NO_RUN, true);
}

export function watch(execution: string): void {
  forgetRun();
  watcher = new Watcher(execution);
  runStore.setState({ ...NO_RUN, execution, connection: "connecting" }, true);
  void watcher.ask();
  watcher.connect();
}

// Looks again now, since something was done that the run will answer to.
export function askAgain(): void {
  void watcher?.ask();
}

// The canvas that the run is drawn on became another one.
export function drawAgain(): void {
  watcher?.draw();
}

class Watcher {
  private readonly execution: string;
  private attempts = new Map<number, Attempt>();
  private standing: Standing[] = [];
  private lines: Line[] = [];
  private progress = new Map<string, Progress>();
  private cursor = "";
  private failures = 0;
  private isStopped = false;
  private isComplete = false; // every line is here
  private isAsking = false;
  private isWanted = false;
  private socket: WebSocket | null = null;
  private drawing = 0;
  private ticks = 0;
  private readonly ticking: number;

  constructor(execution: string) {
    this.execution = execution;
    this.ticking = window.setInterval(() => this.tick(), 1000);
  }

  stop(): void {
    this.isStopped = true;
    window.clearInterval(this.ticking);
    window.clearTimeout(this.drawing);
    this.socket?.close();
  }

  connect(): void {
    if (this.isStopped) return;
    const query = new URLSearchParams({ batch: "1" });
    if (this.cursor) query.set("after", this.cursor);
    if (customer()) query.set("customer", customer());
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const path = `/ws/executions/${encodeURIComponent(this.execution)}/logs`;
    const socket = new WebSocket(`${scheme}://${location.host}${path}?${query}`);
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      if (!this.isSettled()) runStore.setState({ connection: "live" });
      void this.ask(); // of what happened while there was no socket
    };
    socket.onmessage = ({ data }) => this.read([JSON.parse(String(data))].flat() as JsonObject[]);
    socket.onclose = () => {
      if (this.isStopped || this.isComplete) return;
      if (!this.isSettled()) runStore.setState({ connection: "lost" });
      const wait = RETRY[Math.min(this.failures, RETRY.length - 1)] ?? 1000;
      this.failures += 1;
      window.setTimeout(async () => {
        void this.ask(); // tells what is wrong, and how it goes on while there is no socket
        if (this.failures > 1) await this.catchUp().catch(() => undefined); // the next try may be answered
        if (!this.isComplete) this.connect();
      }, wait);
    };
  }

  // The lines since the last one, for where no socket is let through.
  private async catchUp(): Promise<void> {
    const path = `/executions/${encodeURIComponent(this.execution)}/logs`;
    for (let hasMore = true; hasMore && !this.isStopped; ) {
      const query = new URLSearchParams({
        level: "info",
        limit: "1000",
        ...(this.cursor ? { after: this.cursor } : {}),
      });
      const page = await request("GET", `${path}?${query}`);
      const logs = listOf(page.logs);
      this.read(logs.map((line) => ({ ...line, type: "log" })));
      if (textOr(page.next)) this.cursor = textOr(page.next);
      hasMore = page.more === true && logs.length > 0;
      if (page.more !== true && isOver(runStore.getState().status)) this.isComplete = true;
    }
  }

  private isSettled(): boolean {
    const { connection } = runStore.getState();
    return connection === "over" || connection === "refused";
  }

  private read(frames: JsonObject[]): void {
    let hasChanged = false;
    for (const frame of frames) {
      if (textOr(frame.cursor)) this.cursor = textOr(frame.cursor);
      const node = textOr(frame.nodeId);
      if (frame.type === "log" || frame.type === "progress") this.lines.push(lineOf(frame, node));
      if (frame.type === "progress") {
        this.progress.set(node, { percent: Number(frame.percent) || 0, message: textOr(frame.message) });
      }
      if (frame.type === "state" && node) this.progress.delete(node);
      if (frame.type === "end") this.isComplete = true;
      // A vote that does not decide changes no state, and is told all the same.
      if (frame.type === "state" || frame.type === "end" || frame.event === "approval") hasChanged = true;
    }
    if (this.lines.length > 2 * KEPT) this.lines = this.lines.slice(-KEPT);
    this.drawing ||= window.setTimeout(() => {
      this.drawing = 0;
      runStore.setState({ lines: this.lines.slice(-KEPT), progress: new Map(this.progress) });
    }, DRAW);
    if (hasChanged) void this.ask();
  }

  // One question at a time; what comes meanwhile is asked once more after it.
  async ask(): Promise<void> {
    if (this.isAsking) {
      this.isWanted = true;
      return;
    }
    this.isAsking = true;
    let wait = Math.max(GATHER, (this.attempts.size / LARGE) * 1000);
    try {
      await this.askOnce();
    } catch (error) {
      wait = AGAIN;
      this.isWanted = true;
      const isFinal = error instanceof Refused && [401, 403, 404].includes(error.status);
      if (isFinal) {
        runStore.setState({ connection: "refused", message: error.message });
        this.stop();
      }
    }
    window.setTimeout(() => {
      this.isAsking = false;
      if (this.isWanted && !this.isStopped) {
        this.isWanted = false;
        void this.ask();
      }
    }, wait);
  }

  private async askOnce(): Promise<void> {
    const path = `/executions/${encodeURIComponent(this.execution)}`;
    const facts = await request("GET", `${path}?logs=0`);
    if (textOr(facts.workflowId) !== editor.getState().workflow) {
      throw new Refused("This run is of another workflow.", 404);
    }
    const status = textOr(facts.status);
    const isEnd = isOver(status);
    // At the end all once more, so that what is shown is what the server says.
    const attempts = isEnd ? new Map<number, Attempt>() : new Map(this.attempts);
    let after = isEnd ? 0 : ([...attempts.keys()].sort((a, b) => a - b).at(-OVERLAP - 1) ?? 0);
    let standing: Standing[] = [];
    let isCut = false;
    for (let hasMore = true; hasMore; ) {
      const page = await request("GET", `${path}/states?values=0&after=${after}`);
      for (const sent of listOf(page.states)) attempts.set(Number(sent.id), readAttempt(sent));
      standing = listOf(page.running).map(readStanding);
      isCut = attempts.size > MOST;
      hasMore = typeof page.next === "number" && !isCut;
      after = Number(page.next);
    }
    const gates = isEnd ? [] : await this.openGates(standing);
    const beginnings = isEnd && rights.mayOperate ? await this.beginnings() : null;
    if (this.isStopped) return;
    this.attempts = attempts;
    this.standing = isEnd ? [] : standing;
    const errors = Array.isArray(facts.errors) ? facts.errors.map(String) : [];
    const { isPausing } = runStore.getState();
    runStore.setState({
      status,
      facts,
      gates,
      beginnings,
      isCut,
      version: Number(facts.version) || 0,
      message: isEnd ? (errors.at(-1) ?? "") : "",
      isPausing: isPausing && !isEnd && status !== "paused",
      ...(isEnd ? { connection: "over" as const } : {}),
    });
    if (isEnd) window.clearInterval(this.ticking);
    this.draw();
  }

  // From where the run can be run again: the server knows.
  private async beginnings(): Promise<ReadonlySet<string>> {
    const { states } = await request("GET", `/executions/${encodeURIComponent(this.execution)}/rerun`);
    return new Set(Array.isArray(states) ? states.map(String) : []);
  }

  private async openGates(standing: Standing[]): Promise<Gate[]> {
    if (!standing.some((one) => one.signal.startsWith(APPROVAL))) return [];
    const query = new URLSearchParams({ executionId: this.execution, status: "pending", limit: "100" });
    return (await requestList(`/approvals?${query}`)).map(gateOf);
  }

  draw(): void {
    const { status, version } = runStore.getState();
    const isEnd = isOver(status);
    const items = itemsOf(this.attempts.values(), this.standing, Date.now());
    // What only holds the branches of a drawing together is no node of it.
    const drawn = new Set(canvasNow().nodes.map((node) => node.key));
    const ran = new Map<string, Fate>();
    for (const [state, list] of items) if (!drawn.size || drawn.has(state)) ran.set(state, fateOf(list));
    // What another version has that this one had not did not fail to run.
    const isSame = version === editor.getState().saved.version;
    const nodes = isSame ? withSilent(canvasNow(), ran, isEnd) : ran;
    runStore.setState({
      attempts: this.attempts,
      standing: this.standing,
      items,
      nodes: kept(runStore.getState().nodes, nodes),
      ways: same(runStore.getState().ways, isSame ? waysOf(canvasNow(), nodes, isEnd) : new Map<string, Way>()),
    });
  }

  // Durations of what runs go on between two events.
  private tick(): void {
    this.ticks += 1;
    if (this.attempts.size > LARGE && this.ticks % 5) return;
    if (this.standing.length && !this.isSettled()) this.draw();
  }
}

// A fate that is as before keeps its identity, so that its node is not drawn again.
function kept(before: ReadonlyMap<string, Fate>, now: Map<string, Fate>): Map<string, Fate> {
  for (const [key, fate] of now) {
    const old = before.get(key);
    if (old && (Object.keys(fate) as (keyof Fate)[]).every((name) => old[name] === fate[name])) now.set(key, old);
  }
  return now;
}

// Edges are drawn again only when one of them came to be taken or skipped.
function same(before: ReadonlyMap<string, Way>, now: Map<string, Way>): ReadonlyMap<string, Way> {
  return before.size === now.size && [...now].every(([key, way]) => before.get(key) === way) ? before : now;
}

function lineOf(frame: JsonObject, node: string): Line {
  return {
    cursor: textOr(frame.cursor),
    timestamp: textOr(frame.timestamp),
    node,
    level: textOr(frame.level),
    message: textOr(frame.message),
  };
}

function gateOf(sent: JsonObject): Gate {
  return {
    id: textOr(sent.id),
    state: textOr(sent.state),
    subject: textOr(sent.subject),
    description: textOr(sent.description),
    required: Number(sent.requiredApprovals) || 1,
    votes: listOf(sent.votes).map((vote) => ({
      user: textOr(vote.user),
      approve: vote.approve === true,
      reason: textOr(vote.reason),
    })),
    expiresAt: textOr(sent.expiresAt),
  };
}
