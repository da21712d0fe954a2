// The whole canvas as a picture, in the colours of the page. Loaded when it is first wanted.
import { toBlob, toSvg } from "html-to-image";
import { around, type Box, boxOf, frames, hidden } from "../model/groups";
import { canvasNow, choose, editor } from "../store";
import { whole } from "./whole";

const MARGIN = 40;
const MOST = 16_000; // pixels of a side; browsers paint no larger picture
const PAINT = [
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "fill",
  "opacity",
  "font-family",
  "font-size",
  "visibility",
];
const LEFT_OUT = [".react-flow__resize-control", ".ports", ".guide", ".react-flow__edgeupdater"];

// Null when nothing is drawn.
export async function draw(kind: "png" | "svg"): Promise<Blob | null> {
  const box = bounds();
  const surface = document.querySelector<HTMLElement>(".react-flow");
  if (!box || !surface) return null;
  const { nodes, edges } = editor.getState();
  choose([]);
  const restore = await whole();
  const unpaint = painted(surface);
  try {
    const viewport = surface.querySelector<HTMLElement>(".react-flow__viewport");
    if (!viewport) return null;
    const [width, height] = [Math.ceil(box.width + 2 * MARGIN), Math.ceil(box.height + 2 * MARGIN)];
    const options = {
      width,
      height,
      backgroundColor: getComputedStyle(surface.parentElement ?? surface).backgroundColor,
      style: {
        width: `${width}px`,
        height: `${height}px`,
        transform: `translate(${MARGIN - box.x}px, ${MARGIN - box.y}px)`,
      },
      pixelRatio: Math.min(2, MOST / Math.max(width, height)),
      skipFonts: true, // the faces are those of the system
      filter: (node: HTMLElement) => !(node instanceof Element && LEFT_OUT.some((name) => node.matches(name))),
    };
    if (kind === "png") return await toBlob(viewport, options);
    const address = await toSvg(viewport, options);
    return new Blob([decodeURIComponent(address.slice(address.indexOf(",") + 1))], { type: "image/svg+xml" });
  } finally {
    unpaint();
    restore();
    choose(nodes, edges);
  }
}

// Pictures take along the style of elements, but not of what is inside a drawing: for as long as one is made, lines and
// their labels carry theirs themselves. Returns what takes it off again.
function painted(surface: HTMLElement): () => void {
  const parts = [...surface.querySelectorAll<SVGElement>(".react-flow__edges svg *, .react-flow__marker *")];
  const looks = parts.map((part) => {
    const style = getComputedStyle(part);
    return PAINT.map((name): [name: string, value: string] => [name, style.getPropertyValue(name)]);
  });
  parts.forEach((part, index) => {
    for (const [name, value] of looks[index] ?? []) part.style.setProperty(name, value);
  });
  return () => {
    for (const part of parts) for (const name of PAINT) part.style.removeProperty(name);
  };
}

// What is drawn, with room for what stands below nodes.
function bounds(): Box | null {
  const canvas = canvasNow();
  const [boxes, within] = [frames(canvas), hidden(canvas)];
  const shown = canvas.nodes.flatMap((node, index) =>
    within.has(node.key) ? [] : [boxes.get(node.key) ?? boxOf(node, index)],
  );
  return shown.length ? around(shown) : null;
}
