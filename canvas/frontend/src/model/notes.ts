// What a note says and how it looks; any other colour than these is drawn as the first.
import { type CanvasNode, dataOf } from "./document";
import { textOr } from "./json";

export const COLOURS = ["yellow", "blue", "green", "pink", "grey"] as const;
export type Colour = (typeof COLOURS)[number];

export function colourOf(note: CanvasNode): Colour {
  return COLOURS.find((colour) => colour === dataOf(note).colour) ?? "yellow";
}

export function textOf(note: CanvasNode): string {
  return textOr(dataOf(note).text);
}
