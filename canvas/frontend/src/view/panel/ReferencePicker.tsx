// What a field may read: inputs of the run and outputs that are certain to be there, with their value in the last run.
import type { ReactElement } from "react";
import { useAsked } from "../../behaviours/asking";
import type { Readable } from "../../model/activities";
import type { Json } from "../../model/json";
import { preview } from "../../model/jsonText";
import { lastRun, valueIn } from "../../server/lastRun";
import { useEditor } from "../../store";
import { type Choice, Picker } from "./Picker";

const LONGEST = 400; // characters of a value

export function ReferencePicker({
  list,
  onPick,
  onClose,
}: {
  list: Readable[];
  onPick: (text: string) => void;
  onClose: () => void;
}): ReactElement {
  const workflow = useEditor((state) => state.workflow);
  const asked = useAsked(() => lastRun(workflow), workflow);
  const sorted = [...list.filter((one) => one.fits), ...list.filter((one) => !one.fits)];
  const choices: Choice[] = sorted.map((one) => ({
    key: one.text,
    words: `${one.node || "input of the run"} ${one.name} ${one.type}`,
    isFaint: !one.fits,
    content: (
      <>
        <span dir="auto">{one.node || "Input of the run"}</span>
        <strong>{one.name}</strong>
        <span className="quiet type">{one.fits ? one.type : `${one.type}, does not fit`}</span>
      </>
    ),
  }));
  function about(text: string): ReactElement {
    if (asked.state === "asking") return <p className="quiet small">Looking at the last run…</p>;
    if (asked.state === "failed") return <p className="quiet small">The last run cannot be read: {asked.message}</p>;
    if (!asked.value.id) return <p className="quiet small">No run yet: no value to show.</p>;
    const value = valueIn(asked.value, text);
    if (value === undefined) return <p className="quiet small">It had no value in the last run.</p>;
    return (
      <>
        <p className="quiet small">In the last run ({asked.value.status})</p>
        <pre dir="auto">{shortened(value)}</pre>
      </>
    );
  }
  return (
    <Picker
      label="What is certain to be there"
      choices={choices}
      nothing="Nothing is certain to be there: no earlier step gives anything, and the run has no inputs yet."
      onPick={onPick}
      onClose={onClose}
      about={about}
    />
  );
}

function shortened(value: Json): string {
  const text = typeof value === "string" ? value.slice(0, LONGEST + 1) : preview(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
