// Questions that stand before everything else: of two versions which one, and with which inputs a run starts.
import { type ReactElement, type ReactNode, useEffect, useMemo, useRef } from "react";
import { keepMine, takeTheirs } from "../behaviours/saving";
import { differences } from "../model/differences";
import { type Saving, useEditor } from "../store";

export function Modal({
  label,
  onClose,
  children,
}: {
  label: string;
  onClose: () => void;
  children: ReactNode;
}): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="wide-dialog" aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}

export function Conflict({
  saving,
  onLater,
}: {
  saving: Saving & { state: "conflict" };
  onLater: () => void;
}): ReactElement {
  const mine = useEditor((state) => state.history.present);
  const { theirs } = saving;
  const list = useMemo(() => differences(theirs.canvas, mine), [theirs, mine]);
  return (
    <Modal label="Two versions" onClose={onLater}>
      <h2>Somebody else saved version {theirs.version}</h2>
      <p>Nothing of yours is lost or written. From their version to yours:</p>
      <ul className="differences">
        {list.slice(0, 100).map((one) => (
          <li key={`${one.what} ${one.key}`}>
            <span className={`status tone-${one.how === "added" ? "good" : one.how === "removed" ? "bad" : "busy"}`}>
              {one.how}
            </span>{" "}
            <span>
              {one.what} <strong dir="auto">{one.name}</strong>{" "}
              {one.fields.length > 0 && (
                <span className="quiet mono small">
                  {one.fields
                    .slice(0, 6)
                    .map(({ path }) => path.join("."))
                    .join(", ")}
                </span>
              )}
            </span>
          </li>
        ))}
        {list.length > 100 && <li className="quiet">and {list.length - 100} more</li>}
        {!list.length && <li className="quiet">They are the same.</li>}
      </ul>
      <div className="row end">
        <button type="button" className="button" onClick={onLater}>
          Decide later
        </button>
        <button type="button" className="button" onClick={takeTheirs} title="Yours is one undo away">
          Take theirs
        </button>
        <button
          type="button"
          className="button primary"
          onClick={() => void keepMine()}
          title={`Version ${theirs.version} stays in the list of versions`}
        >
          Save mine over it
        </button>
      </div>
    </Modal>
  );
}
