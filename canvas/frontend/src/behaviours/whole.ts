// Lets the surface draw every node with its words for a moment, whatever is in view: for pictures.
import { useReactFlow } from "@xyflow/react";
import { useEffect } from "react";
import { useStoreWithEqualityFn } from "zustand/traditional";
import { createStore } from "zustand/vanilla";

type Draw = () => Promise<() => void>;
const wholeStore = createStore<{ isWhole: boolean; draw: Draw }>(() => ({
  isWhole: false,
  draw: async () => () => undefined,
}));

// Resolves when all of it is drawn, to what puts everything back.
export function whole(): Promise<() => void> {
  return wholeStore.getState().draw();
}

// For the surface: whether it is to draw what is out of view too.
export function useWhole(): boolean {
  const flow = useReactFlow();
  useEffect(() => {
    async function draw(): Promise<() => void> {
      const before = flow.getViewport();
      wholeStore.setState({ isWhole: true });
      await flow.setViewport({ ...before, zoom: 1 });
      for (let frame = 0; frame < 4; frame += 1) await new Promise((done) => requestAnimationFrame(done));
      return () => {
        wholeStore.setState({ isWhole: false });
        void flow.setViewport(before);
      };
    }
    wholeStore.setState({ draw });
  }, [flow]);
  return useStoreWithEqualityFn(wholeStore, (state) => state.isWhole);
}
