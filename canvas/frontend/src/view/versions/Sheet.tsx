// The dialog that versions are looked at in: it covers the page, and has keys of its own.
import { type KeyboardEvent, type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";
import { isTyping } from "../../behaviours/keyboard";
import { Icon } from "../icons";
import "./versions.css";

export function Sheet({
  label,
  title,
  about,
  onClose,
  onStep,
  children,
}: {
  label: string;
  title: ReactNode;
  about?: ReactNode;
  onClose: () => void;
  onStep: (by: 1 | -1) => void;
  children: ReactNode;
}): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const [isOpen, setOpen] = useState(false); // what draws must not measure a dialog that is not shown yet
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
    heading.current?.focus();
    setOpen(true);
  }, []);
  function press(event: KeyboardEvent): void {
    if (event.key.toLowerCase() !== "n" || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as Element;
    if (isTyping(target) && !target.matches("[type=radio]")) return;
    event.preventDefault();
    onStep(event.shiftKey ? -1 : 1);
  }
  return (
    <dialog ref={dialog} className="versions" aria-label={label} onClose={onClose} onKeyDown={press}>
      <header className="sheet-head">
        <div className="grow">
          <h2 dir="auto" ref={heading} tabIndex={-1}>
            {title}
          </h2>
          {about && <p className="quiet small">{about}</p>}
        </div>
        <button type="button" className="plain" title="Close (Esc)" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
          <span className="hidden">Close</span>
        </button>
      </header>
      {isOpen && children}
    </dialog>
  );
}
