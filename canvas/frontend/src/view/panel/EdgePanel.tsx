// Everything about one connection: what it means, and its data as JSON.
import { type ReactElement, useState } from "react";
import { type CanvasEdge, labelOf } from "../../model/document";
import { useEditor } from "../../store";
import { EdgeForm } from "../EdgeForm";
import { Marks } from "./Marks";
import { RawEdge } from "./Raw";
import { RelationHistory } from "./RelationHistory";
import { Tab } from "./Tab";

export function EdgePanel({ edge }: { edge: CanvasEdge }): ReactElement {
  const [tab, setTab] = useState<"form" | "json" | "history">("form");
  const marks = useEditor((state) => state.edgeMarks.get(edge.key)) ?? [];
  const canvas = useEditor((state) => state.history.present);
  const named = (key: string) => {
    const node = canvas.nodes.find((one) => one.key === key);
    return node ? labelOf(node) : key;
  };
  return (
    <>
      <header>
        <div className="grow">
          <h2 dir="auto">
            {named(edge.source)} → {named(edge.target)}
          </h2>
          <p className="quiet small">
            <code>{edge.key.slice(0, 80)}</code> connection
          </p>
        </div>
      </header>
      <div className="tabs" role="tablist">
        <Tab name="form" now={tab} set={setTab} text="Settings" />
        <Tab name="json" now={tab} set={setTab} text="JSON" />
        <Tab name="history" now={tab} set={setTab} text="History" />
      </div>
      <div className="scroll" role="tabpanel">
        {tab === "history" ? (
          <RelationHistory edge={edge} />
        ) : tab === "json" ? (
          <RawEdge edge={edge} />
        ) : (
          <div className="form">
            <Marks list={marks} />
            <EdgeForm edge={edge} />
          </div>
        )}
      </div>
    </>
  );
}
