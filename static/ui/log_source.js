// Where lines come from: pages over REST up to now, then the socket; without the socket REST again, every second.
// One cursor goes through both, so no line is missed and none comes twice. It says honestly how it is connected.
import { customer, request } from "./rest.js";

const PAGE = 10000;
const FIRST_PAGE = 500; // small, so that something is there at once
const PREVIEW = 300; // newest lines, shown while a long log is read from its beginning
const POLL = 1000;
const RETRY = [1000, 2000, 5000, 10000, 20000];
const SILENCE = 30000; // after which the server is asked whether it is still there: a dead line says nothing either
const GONE = new Set([4401, 4403, 4404]);

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class LogSource {
  // take(entries), preview(entries) for the newest lines of a long log, progress(line) for an
  // activity that tells how far it is, changed() for states, said(tone, text) for the
  // connection; over() tells whether the run has ended.
  constructor(execution, { take, preview, progress, changed, said, over }) {
    Object.assign(this, { execution, take, preview, progress, changed, said, over, count: 0, cursor: "", failures: 0, socketFailures: 0, ended: false, stopped: false, nextSocket: 0 });
  }

  async run() {
    this.said("wait", "Loading");
    while (!(await this.catchUp(true))) await this.wait();
    this.preview([]);
    while (!this.ended && !this.stopped) {
      if (Date.now() >= this.nextSocket) await this.listen();
      if (this.ended || this.stopped) break;
      const isRead = await this.catchUp();
      await this.changed();
      // Once more after the end, for what was said between the last page and it.
      if (isRead && this.over() && (await this.catchUp()) && !this.isWithheld) this.ended = true;
      else await this.wait();
    }
    if (!this.stopped) this.said("idle", "Complete");
  }

  // Reads pages until there are no more; returns false if it could not.
  async catchUp(isFirst = false) {
    try {
      for (let more = true; more; ) {
        const query = new URLSearchParams({ level: "debug", limit: this.cursor ? PAGE : FIRST_PAGE });
        if (this.cursor) query.set("after", this.cursor);
        const page = await request("GET", `/executions/${this.execution}/logs?${query}`);
        if (page.next) this.cursor = page.next;
        if (page.logs.length) this.take(page.logs);
        more = page.more && page.logs.length > 0;
        this.isWithheld = page.more && !more; // for a transaction that is still open
        this.count += page.logs.length;
        if (isFirst && more) {
          if (this.count === FIRST_PAGE) this.preview(await this.newest());
          this.said("wait", `Loading: ${this.count.toLocaleString("en")}`);
        }
      }
      this.failures = 0;
      if (this.nextSocket > Date.now()) this.said("wait", "Asking every second");
      return true;
    } catch (error) {
      if ([401, 403, 404].includes(error.status)) {
        this.stopped = true;
        this.said("bad", error.message);
        return true;
      }
      this.failures += 1;
      this.said("bad", `No connection; trying again (${this.failures})`);
      return false;
    }
  }

  async newest() {
    const execution = await request("GET", `/executions/${this.execution}?level=debug&logs=${PREVIEW}`);
    return execution.logs;
  }

  wait() {
    return pause(this.failures ? RETRY[Math.min(this.failures, RETRY.length) - 1] : POLL);
  }

  // Frames as docs/reference/live-logs.md has them.
  read(frames) {
    const lines = frames.filter(({ type }) => type === "log" || type === "progress");
    if (lines.length) this.take(lines);
    for (const frame of frames) {
      if (frame.cursor) this.cursor = frame.cursor;
      if (frame.type === "progress") this.progress(frame);
      if (frame.type === "end") this.ended = true;
    }
    if (frames.some(({ type }) => type === "state" || type === "end")) this.changed();
  }

  // Follows over the socket; resolves when that has ended, one way or the other.
  listen() {
    return new Promise((done) => {
      const query = new URLSearchParams({ level: "debug", batch: "1" });
      if (this.cursor) query.set("after", this.cursor);
      if (customer()) query.set("customer", customer());
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const socket = new WebSocket(`${scheme}://${location.host}/ws/executions/${this.execution}/logs?${query}`);
      let heard = Date.now();
      const watch = setInterval(() => {
        if (!navigator.onLine) socket.close();
        else if (Date.now() - heard > SILENCE) {
          heard = Date.now();
          fetch("/health/live").catch(lost);
        }
      }, 1000);
      const lost = () => socket.close();
      addEventListener("offline", lost, { once: true });
      socket.onopen = () => {
        this.socketFailures = 0;
        this.said("good", "Live");
      };
      socket.onmessage = ({ data }) => {
        heard = Date.now();
        this.read([JSON.parse(data)].flat()); // one that refuses may come alone
      };
      socket.onclose = ({ code }) => {
        clearInterval(watch);
        removeEventListener("offline", lost);
        if (GONE.has(code)) this.socketFailures = RETRY.length; // REST will say what is wrong
        this.nextSocket = Date.now() + RETRY[Math.min(this.socketFailures, RETRY.length - 1)];
        this.socketFailures += 1;
        done();
      };
    });
  }
}
