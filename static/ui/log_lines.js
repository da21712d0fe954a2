// The lines of a log in memory: what of them fits the filters, and where the searched text is. No page, no network.
import { plain } from "./ansi.js";

export const LEVELS = ["debug", "info", "warn", "error"];
export const MOST = 300000; // lines kept; older ones are in the download

export class LogLines {
  constructor() {
    this.all = [];
    this.shown = []; // places in all
    this.matches = []; // places in shown
    this.nodes = new Set();
    this.dropped = 0;
    this.level = 1;
    this.node = "";
    this.text = "";
  }

  // Takes what REST and the socket give; a message of several lines becomes as many rows. Returns whether nodes are new.
  add(entries) {
    const nodes = this.nodes.size;
    for (const entry of entries) {
      const level = Math.max(0, LEVELS.indexOf(entry.level));
      if (entry.nodeId) this.nodes.add(entry.nodeId);
      const texts = entry.message.includes("\n") ? entry.message.replace(/\n+$/, "").split("\n") : [entry.message];
      for (const [number, text] of texts.entries()) {
        this.all.push({ at: number ? "" : entry.timestamp, node: entry.nodeId, level, text, plain: plain(text), lower: null, entry, isFirst: number === 0 });
        this.consider(this.all.length - 1);
      }
    }
    if (this.all.length > MOST * 1.1) {
      const extra = this.all.length - MOST;
      this.all = this.all.slice(extra);
      this.dropped += extra;
      this.filter({});
    }
    return this.nodes.size > nodes;
  }

  filter({ level = this.level, node = this.node, text = this.text }) {
    Object.assign(this, { level, node, text: text.toLowerCase() });
    this.shown = [];
    this.matches = [];
    for (let place = 0; place < this.all.length; place += 1) this.consider(place);
  }

  consider(place) {
    const line = this.all[place];
    if (line.level < this.level || (this.node && line.node !== this.node)) return;
    this.shown.push(place);
    if (this.text && this.lower(line).includes(this.text)) this.matches.push(this.shown.length - 1);
  }

  lower(line) {
    line.lower ??= line.plain.toLowerCase();
    return line.lower;
  }

  at(row) {
    return this.all[this.shown[row]];
  }
}
