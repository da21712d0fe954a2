// Draws the rows of a log that can be seen, whatever number there is: rows have one height, so places are arithmetic.
import { pieces } from "./ansi.js";
import { LEVELS } from "./log_lines.js";

const MARGIN = 12; // rows drawn beyond the edge
const HIGHEST = 15000000; // pixels: browsers cut off what is higher

export class LogView {
  constructor(lines, { scroller, spacer, pane, choose, places }) {
    Object.assign(this, { lines, scroller, spacer, pane, places, following: true, chosen: null, current: -1, first: -1, last: -1 });
    this.measure();
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => {
      this.measure();
      this.draw(true);
    }).observe(scroller);
    pane.addEventListener("click", (event) => {
      const row = event.target.closest(".line");
      if (row && !String(getSelection())) choose(this.lines.at(Number(row.dataset.row)));
    });
  }

  // Rows are higher in narrow windows, where what was said stands below its time and state.
  measure() {
    this.rowHeight = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--log-row")) || 20;
  }

  get height() {
    return Math.min(this.lines.shown.length * this.rowHeight, HIGHEST);
  }

  // At once for people, at most once a frame for lines that arrive.
  changed() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw(true);
    });
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < this.rowHeight * 2;
    // Only somebody who scrolls up stops it: its own scrolling goes down.
    if (this.following && !isAtEnd && scrollTop < this.lastTop - 1) this.onFollow?.(false);
    this.lastTop = scrollTop;
    this.draw(false);
  }

  follow(on) {
    this.following = on;
    this.draw(true);
  }

  show(row) {
    this.following = false;
    this.current = row;
    this.scroller.scrollTop = Math.max(0, this.topOf(row) - this.scroller.clientHeight / 2);
    this.draw(true);
  }

  topOf(row) {
    return this.squeeze * row * this.rowHeight;
  }

  // 1, but for logs too high for a browser: then scrolling is faster than the rows.
  get squeeze() {
    const whole = this.lines.shown.length * this.rowHeight;
    return whole > HIGHEST ? HIGHEST / whole : 1;
  }

  draw(isChanged) {
    this.spacer.style.height = `${this.height}px`;
    if (this.following && isChanged) {
      this.scroller.scrollTop = this.height;
      this.lastTop = this.scroller.scrollTop;
    }
    const { scrollTop, clientHeight } = this.scroller;
    const seen = Math.ceil(clientHeight / this.rowHeight);
    const top = Math.floor(scrollTop / this.squeeze / this.rowHeight);
    const first = Math.max(0, Math.min(top, this.lines.shown.length - seen) - MARGIN);
    const last = Math.min(this.lines.shown.length, first + seen + 2 * MARGIN);
    if (!isChanged && first === this.first && last === this.last) return;
    Object.assign(this, { first, last });
    const rows = [];
    for (let row = first; row < last; row += 1) rows.push(this.row(row));
    const offset = this.squeeze === 1 ? first * this.rowHeight : Math.max(0, scrollTop - (top - first) * this.rowHeight);
    this.pane.style.transform = `translateY(${offset}px)`;
    this.pane.replaceChildren(...rows);
  }

  row(number) {
    const line = this.lines.at(number);
    const row = document.createElement("div");
    row.className = line.entry.event ? "line event" : "line";
    if (line.entry === this.chosen) row.classList.add("chosen");
    if (number === this.current) row.classList.add("current");
    row.dataset.row = number;
    row.dataset.level = line.level;
    const text = cell("tx", "");
    const marks = this.lines.text && this.lines.lower(line).includes(this.lines.text) ? this.lines.text : "";
    for (const piece of pieces(line.text)) text.append(...styled(piece, marks));
    const { short, whole } = this.places.of(line.entry.branch);
    const isSaid = short === line.node; // a branch that is called as its only state
    const node = cell("of", line.isFirst ? `${line.node} ${isSaid ? "" : short}`.trim() : "");
    if (whole) node.title = `${whole}: ${line.node}`;
    row.append(cell("at", line.at.slice(11, 19)), node, cell("lv", line.isFirst ? LEVELS[line.level] : ""), text);
    return row;
  }
}

function cell(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}

function* styled({ text, classes }, searched) {
  if (!searched) {
    yield classes ? cell(classes, text) : text;
    return;
  }
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(searched); at >= 0; at = lower.indexOf(searched, from)) {
    if (at > from) yield cell(classes, text.slice(from, at));
    const mark = document.createElement("mark");
    mark.className = classes;
    mark.textContent = text.slice(at, at + searched.length);
    yield mark;
    from = at + searched.length;
  }
  if (from < text.length) yield cell(classes, text.slice(from));
}
