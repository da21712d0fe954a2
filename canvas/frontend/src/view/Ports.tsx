// What a node takes and gives, with types: beside the node the pointer rests on, and beside the one that is chosen.
import type { ReactElement } from "react";
import type { Field } from "../model/activities";
import { type CanvasNode, configOf } from "../model/document";
import { useEditor } from "../store";

const MOST = 8; // of a side

// `isSure`: shown at once; else only where the pointer stays a moment.
export function Ports({ node, isSure }: { node: CanvasNode; isSure: boolean }): ReactElement | null {
  const activities = useEditor((state) => state.activities);
  const [inputs, outputs] = [activities.inputsOf(node), activities.outputsOf(node)];
  if (inputs.length + outputs.length === 0) return null;
  const config = configOf(node);
  const sorted = [...inputs].sort((a, b) => Number(b.required) - Number(a.required));
  return (
    <div className={`ports${isSure ? " sure" : ""}`}>
      <List title="Takes" fields={sorted} given={(name) => config[name] !== undefined} />
      <List title="Gives" fields={outputs} given={() => false} />
    </div>
  );
}

function List({
  title,
  fields,
  given,
}: {
  title: string;
  fields: Field[];
  given: (name: string) => boolean;
}): ReactElement {
  return (
    <dl>
      <dt>{title}</dt>
      {fields.slice(0, MOST).map((field) => (
        <dd key={field.name} className={given(field.name) ? "given" : ""}>
          <span>
            {field.name}
            {field.required && <abbr title="required">*</abbr>}
          </span>
          <small>{field.type}</small>
        </dd>
      ))}
      {fields.length > MOST && <dd className="more">and {fields.length - MOST} more</dd>}
      {fields.length === 0 && <dd className="more">nothing</dd>}
    </dl>
  );
}
