// A connection with words: on its line where they fit between its ends, else above both nodes.
import { BaseEdge, type EdgeProps, getBezierPath } from "@xyflow/react";
import type { ReactElement } from "react";
import { SIZE } from "../model/document";

const LETTER = 6.8; // px, of the 11 px mono type of labels
const MARGIN = 24; // around the words, and for the arrowhead
const ABOVE = 14; // over the upper side of the nodes

export function WordedEdge(edge: EdgeProps): ReactElement {
  const { id, label, markerEnd, style, interactionWidth, sourceX, sourceY, targetX, targetY } = edge;
  const [path, x, y] = getBezierPath(edge);
  const isLevel = Math.abs(targetY - sourceY) < SIZE.height;
  const fits = String(label).length * LETTER + MARGIN <= targetX - sourceX;
  return (
    <BaseEdge
      id={id}
      path={path}
      label={label}
      labelX={x}
      labelY={isLevel && !fits ? Math.min(sourceY, targetY) - SIZE.height / 2 - ABOVE : y}
      labelBgPadding={[4, 2]}
      labelBgBorderRadius={4}
      {...(markerEnd ? { markerEnd } : {})}
      {...(style ? { style } : {})}
      {...(interactionWidth ? { interactionWidth } : {})}
    />
  );
}
