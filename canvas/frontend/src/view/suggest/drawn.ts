// Suggested connections as React Flow draws them: dashed, behind those that are there; what would go is crossed out.
import { type Edge, MarkerType } from "@xyflow/react";
import { useMemo } from "react";
import type { Canvas } from "../../model/document";
import { hidden } from "../../model/groups";
import { type Entry, standing } from "../../model/suggestions";
import { useSuggesting } from "../../suggestions";

export function useSuggestedEdges(canvas: Canvas, drawn: Edge[]): Edge[] {
  const entries = useSuggesting((state) => state.entries);
  const at = useSuggesting((state) => state.at);
  return useMemo(
    () => (entries.length ? withSuggestions(canvas, drawn, entries, at) : drawn),
    [canvas, drawn, entries, at],
  );
}

function withSuggestions(canvas: Canvas, drawn: Edge[], entries: Entry[], at: string): Edge[] {
  const within = hidden(canvas);
  const open = standing(canvas, entries);
  const going = new Map(
    open.filter((one) => one.what === "remove").map((one) => [`${one.source}\n${one.target}`, one.id === at]),
  );
  const kept = drawn.map((edge) => {
    const isLookedAt = going.get(`${edge.source}\n${edge.target}`);
    if (isLookedAt === undefined) return edge;
    return { ...edge, className: `${edge.className ?? ""} going${isLookedAt ? " looked-at" : ""}` };
  });
  const added = open
    .filter((one) => one.what === "add")
    .map((one): Edge => {
      const sure = `${Math.round(one.confidence * 100)} %`;
      return {
        id: `suggested ${one.id}`,
        source: within.get(one.source) ?? one.source,
        target: within.get(one.target) ?? one.target,
        className: `suggested${one.id === at ? " looked-at" : ""}${one.warning ? " doubtful" : ""}`,
        label: sure,
        selectable: false,
        focusable: false,
        deletable: false,
        markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
        zIndex: one.id === at ? 5 : 0,
      };
    })
    .filter((edge) => edge.source !== edge.target);
  return [...kept, ...added];
}
