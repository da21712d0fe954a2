// Which item of which Map, or branch of which Parallel, a line belongs to: asked for as lines come into view.

const MOST = 100; // branches in one question

export class LogPlaces {
  // changed() when places have become known.
  constructor(execution, changed) {
    Object.assign(this, { execution, changed, known: new Map(), wanted: new Set(), asking: false });
  }

  // {short, whole}, empty while it is not known and for what belongs to no item and no branch.
  of(branch) {
    if (!branch) return { short: "", whole: "" };
    const place = this.known.get(branch);
    if (!place) this.want(branch);
    return place ?? { short: "", whole: "" };
  }

  want(branch) {
    this.wanted.add(branch);
    if (!this.asking) {
      this.asking = true;
      setTimeout(() => this.ask(), 50); // what one look at the log needs goes into one question
    }
  }

  async ask() {
    const branches = [...this.wanted].slice(0, MOST);
    this.wanted.clear(); // what scrolled by meanwhile is asked for when it is seen again
    try {
      const response = await fetch(`/ui/executions/${this.execution}/places?of=${branches.join(",")}`, { credentials: "same-origin" });
      if (!response.ok) throw new Error(`The server answered ${response.status}.`);
      const places = await response.json();
      for (const branch of branches) {
        const [short, whole] = places[branch] ?? ["", ""];
        this.known.set(branch, { short, whole });
      }
      this.asking = false;
      this.changed();
    } catch {
      setTimeout(() => {
        this.asking = false;
        this.changed(); // draws again, and so asks again
      }, 5000);
    }
  }
}
