// A small picture of a drawing that is not on the canvas yet.
import type { ReactElement } from "react";
import { type Canvas, kindOf, labelOf, placeOf, sizeOf } from "../../model/document";
import { objectOr } from "../../model/json";

const MARGIN = 12;
const LONGEST = 26;

export function Preview({ canvas }: { canvas: Canvas }): ReactElement {
  const boxes = new Map(
    canvas.nodes.map((node, index) => [node.key, { node, ...placeOf(node, index), ...sizeOf(node) }] as const),
  );
  const all = [...boxes.values()];
  const left = Math.min(...all.map((box) => box.x)) - MARGIN;
  const top = Math.min(...all.map((box) => box.y)) - MARGIN;
  const width = Math.max(...all.map((box) => box.x + box.width)) + MARGIN - left;
  const height = Math.max(...all.map((box) => box.y + box.height)) + MARGIN - top;
  const said = all.map(({ node }) => labelOf(node)).join(", then ");
  return (
    <figure className="preview">
      <svg viewBox={`${left} ${top} ${width} ${height}`} role="img" aria-label={said}>
        {canvas.edges.map((edge) => {
          const [from, to] = [boxes.get(edge.source), boxes.get(edge.target)];
          if (!from || !to) return null;
          const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
          const [x2, y2] = [to.x, to.y + to.height / 2];
          const bend = Math.max(24, (x2 - x1) / 2);
          const isConditional = Boolean(objectOr(edge.raw.data).condition);
          return (
            <path
              key={edge.key}
              className={isConditional ? "line conditional" : "line"}
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {all.map(({ node, x, y, width: wide, height: high }) => (
          <g key={node.key} transform={`translate(${x} ${y})`}>
            <rect
              className={kindOf(node)}
              width={wide}
              height={high}
              rx={kindOf(node) === "activity" ? 10 : high / 2}
            />
            <text x={wide / 2} y={high / 2 + 6} textAnchor="middle">
              {labelOf(node).length > LONGEST ? `${labelOf(node).slice(0, LONGEST - 1)}…` : labelOf(node)}
            </text>
          </g>
        ))}
      </svg>
    </figure>
  );
}
