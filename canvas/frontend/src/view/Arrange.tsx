// What can be done with several things at once.
import type { ReactElement } from "react";
import { duplicate, removeChosen } from "../behaviours/clipboard";
import { arrange } from "../behaviours/layout";
import { move } from "../model/changes";
import { type Point, placeOf, sizeOf } from "../model/document";
import { change, editor, useEditor } from "../store";
import { Icon } from "./icons";
import { counted } from "./TextRow";

// Puts the chosen nodes on one line: their middles at one height, or their left edges below each other.
function align(along: "row" | "column"): void {
  const { nodes } = editor.getState();
  change((canvas) => {
    const chosen = canvas.nodes
      .map((node, index) => ({ node, place: placeOf(node, index) }))
      .filter(({ node }) => nodes.has(node.key));
    const left = Math.min(...chosen.map(({ place }) => place.x));
    const middles = chosen.map(({ node, place }) => place.y + sizeOf(node).height / 2);
    const middle = middles.reduce((sum, one) => sum + one, 0) / (middles.length || 1);
    const places = chosen.map(({ node, place }): [string, Point] => [
      node.key,
      along === "row" ? { x: place.x, y: middle - sizeOf(node).height / 2 } : { x: left, y: place.y },
    ]);
    return move(canvas, new Map(places));
  });
}

export function Arrange(): ReactElement {
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const mayEdit = useEditor((state) => state.mayEdit);
  return (
    <>
      <header>
        <div className="grow">
          <h2>{nodes.size + edges.size} chosen</h2>
          <p className="quiet small">
            {counted(nodes.size, "node")}, {counted(edges.size, "connection")}
          </p>
        </div>
      </header>
      {mayEdit && (
        <div className="scroll">
          <div className="form deeds">
            {nodes.size > 1 && (
              <>
                <button type="button" className="button" onClick={() => void arrange(nodes)}>
                  <Icon name="arrange" />
                  Arrange these
                </button>
                <button type="button" className="button" onClick={() => align("row")}>
                  Align in a row
                </button>
                <button type="button" className="button" onClick={() => align("column")}>
                  Align in a column
                </button>
              </>
            )}
            {nodes.size > 0 && (
              <button type="button" className="button" onClick={duplicate}>
                <Icon name="copy" />
                Duplicate
              </button>
            )}
            <button type="button" className="button danger" onClick={removeChosen}>
              <Icon name="trash" />
              Remove
            </button>
          </div>
        </div>
      )}
    </>
  );
}
