// Two canvases side by side in one drawing, whatever they are.
import { type ReactElement, useMemo, useState } from "react";
import { type Difference, differences } from "../../model/differences";
import type { Pair as Given } from "../../versions";
import { Compared } from "./Compared";
import { DifferenceList, stepped } from "./DifferenceList";
import { Sheet } from "./Sheet";

export default function Pair({ pair, onClose }: { pair: Given; onClose: () => void }): ReactElement {
  const { before, after } = pair;
  const list = useMemo(() => differences(before.canvas, after.canvas), [before, after]);
  const [at, setAt] = useState<Difference | null>(null);
  return (
    <Sheet
      label="Differences"
      title={pair.title}
      about={`From ${before.name} to ${after.name}.`}
      onClose={onClose}
      onStep={(by) => setAt((now) => stepped(list, now, by))}
    >
      <div className="sheet-body two">
        <div className="drawing">
          <Compared
            before={before.canvas}
            after={after.canvas}
            list={list}
            at={at}
            onChoose={(what, key) => setAt(list.find((one) => one.what === what && one.key === key) ?? null)}
          />
        </div>
        <DifferenceList list={list} at={at} onChoose={setAt} />
      </div>
    </Sheet>
  );
}
