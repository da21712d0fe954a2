// What can be done with several things at once.
import type { ReactElement } from "react";
import { duplicate, removeChosen } from "../behaviours/clipboard";
import { ALIGNMENTS } from "../behaviours/deeds";
import { groupChosen } from "../behaviours/grouping";
import { arrange } from "../behaviours/layout";
import { align, distribute } from "../behaviours/placing";
import { useEditor } from "../store";
import { Icon } from "./icons";
import { counted } from "./TextRow";

export function Arrange(): ReactElement {
  const nodes = useEditor((state) => state.nodes);
  const edges = useEditor((state) => state.edges);
  const mayEdit = useEditor((state) => state.mayEdit);
  return (
    <>
      <header>
        <div className="grow">
          <h2>{nodes.size + edges.size} chosen</h2>
          <p className="quiet small">
            {counted(nodes.size, "node")}, {counted(edges.size, "connection")}
          </p>
        </div>
      </header>
      {mayEdit && (
        <div className="scroll">
          <div className="form deeds">
            {nodes.size > 1 && (
              <>
                <button type="button" className="button" onClick={() => void arrange(nodes)}>
                  <Icon name="arrange" />
                  Arrange these
                </button>
                <fieldset className="lining-up">
                  <legend>Align and distribute</legend>
                  {ALIGNMENTS.map(([edge, label, shortcut]) => (
                    <Line
                      key={edge}
                      icon={`align-${edge}`}
                      title={`${label} (${shortcut})`}
                      onClick={() => align(edge)}
                    />
                  ))}
                  {nodes.size > 2 && (
                    <>
                      <Line
                        icon="distribute-x"
                        title="Distribute across (Alt Shift h)"
                        onClick={() => distribute("x")}
                      />
                      <Line icon="distribute-y" title="Distribute down (Alt Shift v)" onClick={() => distribute("y")} />
                    </>
                  )}
                </fieldset>
                <button type="button" className="button" onClick={groupChosen} title="Ctrl G">
                  <Icon name="group" />
                  Group
                </button>
              </>
            )}
            {nodes.size > 0 && (
              <button type="button" className="button" onClick={duplicate} title="Ctrl D">
                <Icon name="copy" />
                Duplicate
              </button>
            )}
            <button type="button" className="button danger" onClick={removeChosen} title="Del">
              <Icon name="trash" />
              Remove
            </button>
          </div>
        </div>
      )}
    </>
  );
}

function Line({ icon, title, onClick }: { icon: string; title: string; onClick: () => void }): ReactElement {
  return (
    <button type="button" className="plain" title={title} onClick={onClick}>
      <Icon name={icon} />
      <span className="hidden">{title}</span>
    </button>
  );
}
