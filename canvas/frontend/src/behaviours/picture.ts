// The whole canvas as a picture, in the colours of the page. Loaded when it is first wanted.
import { toBlob, toSvg } from "html-to-image";
import { around, type Box, boxOf, frames, hidden } from "../model/groups";
import { canvasNow, choose, editor } from "../store";
import { whole } from "./whole";

const MARGIN = 40;
const MOST = 16_000; // pixels of a side; browsers paint no larger picture
const LEFT_OUT = [".react-flow__resize-control", ".ports", ".guide", ".react-flow__edgeupdater"];

// Null when nothing is drawn.
export async function draw(kind: "png" | "svg"): Promise<Blob | null> {
  const box = bounds();
  const surface = document.querySelector<HTMLElement>(".react-flow");
  if (!box || !surface) return null;
  const { nodes, edges } = editor.getState();
  choose([]);
  const restore = await whole();
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
    restore();
    choose(nodes, edges);
  }
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
