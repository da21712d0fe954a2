// While a connection is pulled: which nodes take it. Asked once when it begins, not for each node.
import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";
import { acceptors } from "../model/connecting";
import { canvasNow, editor } from "../store";

const pulled = createStore<{ accepting: ReadonlyMap<string, boolean> | null; side: string }>(() => ({
  accepting: null,
  side: "",
}));

export function beginPulling(from: string, isForwards: boolean): void {
  const accepting = acceptors(canvasNow(), editor.getState().activities, from, isForwards);
  pulled.setState({ accepting, side: isForwards ? "target" : "source" });
}

export function endPulling(): void {
  pulled.setState({ accepting: null });
}

// As class names: nothing; " accepts" with the side that does, and " fits" where something of it is wanted there; or
// " refuses".
export function useAcceptance(key: string): string {
  return useStoreWithEqualityFn(pulled, ({ accepting, side }) => {
    if (!accepting) return "";
    const fits = accepting.get(key);
    return fits === undefined ? " refuses" : ` accepts accepts-${side}${fits ? " fits" : ""}`;
  });
}
