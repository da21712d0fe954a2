// The lines that what is dragged lies on.
import { ViewportPortal } from "@xyflow/react";
import type { ReactElement } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { guides } from "../behaviours/guiding";

export function Guides(): ReactElement | null {
  const { x, y } = useStoreWithEqualityFn(guides);
  if (!x && !y) return null;
  return (
    <ViewportPortal>
      {x && <div className="guide" style={{ left: x.at, top: x.from - 12, width: 0, height: x.to - x.from + 24 }} />}
      {y && <div className="guide" style={{ left: y.from - 12, top: y.at, width: y.to - y.from + 24, height: 0 }} />}
    </ViewportPortal>
  );
}
