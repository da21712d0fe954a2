// Everything a node or a connection holds, keys included that the form does not know.
import type { ReactElement } from "react";
import { setEdgeData, setNodeData } from "../../model/changes";
import { type CanvasEdge, type CanvasNode, dataOf } from "../../model/document";
import { isObject, type JsonObject, objectOr } from "../../model/json";
import { change, useEditor } from "../../store";
import { JsonField } from "./JsonField";

export function RawNode({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  return (
    <Raw
      value={dataOf(node)}
      disabled={!mayEdit}
      onChange={(data) => change((canvas) => setNodeData(canvas, node.key, data), `${node.key} json`)}
    />
  );
}

export function RawEdge({ edge }: { edge: CanvasEdge }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  return (
    <Raw
      value={objectOr(edge.raw.data)}
      disabled={!mayEdit}
      onChange={(data) => change((now) => setEdgeData(now, edge.key, data), `${edge.key} json`)}
    />
  );
}

function Raw({
  value,
  disabled,
  onChange,
}: {
  value: JsonObject;
  disabled: boolean;
  onChange: (value: JsonObject) => void;
}): ReactElement {
  return (
    <div className="form raw">
      <JsonField
        id="raw-data"
        label="data"
        value={value}
        disabled={disabled}
        describedBy="raw-about"
        isTall
        isObject
        onChange={(data) => isObject(data) && onChange(data)}
      />
      <p id="raw-about" className="about">
        What is saved under <code>data</code>, keys included that the form does not know. <kbd>Esc</kbd>, then{" "}
        <kbd>Tab</kbd> leaves the text.
      </p>
    </div>
  );
}
