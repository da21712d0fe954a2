// Follows a run over the log socket: frames say that something happened, REST says what. Without the socket it asks.

import { kindOf } from "../model/document";
import { type JsonObject, textOr } from "../model/json";
import { fatesOf, listOf } from "../model/run";
import { type Line, NO_RUN, runStore } from "../run";
import { customer, Refused, request } from "../server/requests";
import { canvasNow, editor } from "../store";

const KEPT = 2000; // lines
const RETRY = [500, 1000, 2000, 5000, 10000]; // ms
const GATHER = 200; // ms between two questions about states
const OVER = new Set(["success", "failed", "cancelled", "timed_out"]);

let stopWatching: (() => void) | null = null;

export function forgetRun(): void {
  stopWatching?.();
  stopWatching = null;
  runStore.setState(NO_RUN);
}

export function watch(execution: string): void {
  forgetRun();
  const watcher = new Watcher(execution);
  stopWatching = () => watcher.stop();
  runStore.setState({ ...NO_RUN, execution, connection: "connecting" });
  void watcher.ask();
  watcher.connect();
}

class Watcher {
  private readonly execution: string;
  private ended: JsonObject[] = [];
  private running: JsonObject[] = [];
  private cursor = "";
  private failures = 0;
  private isStopped = false;
  private isAsking = false;
  private isWanted = false;
  private socket: WebSocket | null = null;
  private readonly ticking: number;

  constructor(execution: string) {
    this.execution = execution;
    this.ticking = window.setInterval(() => this.tick(), 1000);
  }

  stop(): void {
    this.isStopped = true;
    window.clearInterval(this.ticking);
    this.socket?.close();
  }

  connect(): void {
    if (this.isStopped) return;
    const query = new URLSearchParams({ batch: "1" });
    if (this.cursor) query.set("after", this.cursor);
    if (customer()) query.set("customer", customer());
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/executions/${this.execution}/logs?${query}`);
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      if (!this.isOver()) runStore.setState({ connection: "live" });
    };
    socket.onmessage = ({ data }) => this.read([JSON.parse(String(data))].flat() as JsonObject[]);
    socket.onclose = () => {
      if (this.isStopped || this.isOver()) return;
      runStore.setState({ connection: "lost" });
      const wait = RETRY[Math.min(this.failures, RETRY.length - 1)] ?? 1000;
      this.failures += 1;
      window.setTimeout(() => {
        void this.ask(); // tells what is wrong, and how it goes on while there is no socket
        this.connect();
      }, wait);
    };
  }

  private isOver(): boolean {
    return runStore.getState().connection === "over" || runStore.getState().connection === "refused";
  }

  private read(frames: JsonObject[]): void {
    const lines: Line[] = [];
    for (const frame of frames) {
      if (textOr(frame.cursor)) this.cursor = textOr(frame.cursor);
      if (frame.type === "log") {
        lines.push({
          cursor: textOr(frame.cursor),
          timestamp: textOr(frame.timestamp),
          node: textOr(frame.nodeId),
          level: textOr(frame.level),
          message: textOr(frame.message),
        });
      }
    }
    if (lines.length) runStore.setState(({ lines: before }) => ({ lines: [...before, ...lines].slice(-KEPT) }));
    if (frames.some((frame) => frame.type === "state" || frame.type === "end")) void this.ask();
  }

  // One question at a time; what comes meanwhile is asked once more after it.
  async ask(): Promise<void> {
    if (this.isAsking) {
      this.isWanted = true;
      return;
    }
    this.isAsking = true;
    try {
      await this.askOnce();
    } catch (error) {
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
    }, GATHER);
  }

  private async askOnce(): Promise<void> {
    const path = `/executions/${encodeURIComponent(this.execution)}`;
    const execution = await request("GET", `${path}?logs=0`);
    if (execution.workflowId !== editor.getState().workflow) throw new Refused("This run is of another workflow.", 404);
    const status = textOr(execution.status);
    const isOver = OVER.has(status);
    let after = isOver ? 0 : Number(this.ended.at(-1)?.id ?? 0); // at the end all once more
    const ended = isOver ? [] : [...this.ended];
    for (let hasMore = true; hasMore; ) {
      const page = await request("GET", `${path}/states?after=${after}`);
      ended.push(...listOf(page.states));
      this.running = listOf(page.running);
      hasMore = typeof page.next === "number";
      after = Number(page.next);
    }
    if (this.isStopped) return;
    this.ended = ended;
    const errors = Array.isArray(execution.errors) ? execution.errors.map(String) : [];
    runStore.setState({
      status,
      version: Number(execution.version) || 0,
      message: isOver ? (errors.at(-1) ?? "") : "",
    });
    if (isOver) {
      runStore.setState({ connection: "over" });
      window.clearInterval(this.ticking);
    }
    this.draw(isOver);
  }

  private draw(isOver: boolean): void {
    const nodes = canvasNow().nodes.filter((node) => kindOf(node) === "activity");
    // What another version has that this one had not did not fail to run.
    const isSame = runStore.getState().version === editor.getState().saved.version;
    const keys = isSame ? nodes.map((node) => node.key) : [];
    runStore.setState({ nodes: fatesOf(this.ended, this.running, isOver, keys, Date.now()) });
  }

  // Durations of what runs go on between two events.
  private tick(): void {
    if (this.running.length && !this.isOver()) this.draw(false);
  }
}
