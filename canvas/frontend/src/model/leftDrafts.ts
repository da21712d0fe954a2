// Which of the drafts that were left behind say something, and which of them is the newest. Owns the order; reads none.
import { type Canvas, isSame, readCanvas } from "./document";
import type { JsonObject } from "./json";

export interface Left {
  key: string; // in this browser, "" for the server's
  version: number; // the saved version that it was made on
  at: string;
  canvas: JsonObject;
  revision: string; // of the draft on the server that it is, or goes on from; "" for none
}

export interface Found {
  key: string;
  version: number;
  at: string;
  canvas: Canvas;
  from: "browser" | "server";
}

// Every draft that says something else than what was saved and than the one before it, the newest last. A draft here
// that goes on from the server's is newer than that, whatever the clocks of the two say.
export function foundDrafts(saved: Canvas, here: Left[], there: Left | null): Found[] {
  const isPassed = there && here.some(({ revision }) => revision === there.revision);
  const all = there && !isPassed ? [...here, there] : here;
  const inOrder = all
    .map((left): Found => {
      const { key, version, at } = left;
      return { key, version, at, canvas: readCanvas(left.canvas), from: left === there ? "server" : "browser" };
    })
    .sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const different: Found[] = [];
  for (const one of inOrder) {
    if (!isSame(one.canvas, saved) && !isSame(one.canvas, different.at(-1)?.canvas ?? saved)) different.push(one);
  }
  return different;
}
