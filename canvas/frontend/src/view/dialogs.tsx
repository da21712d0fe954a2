// The frame of a question that stands before everything else.
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";

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
    const shown = dialog.current;
    if (!shown || shown.open) return;
    shown.showModal();
    shown.querySelector<HTMLElement>("input, textarea, select")?.focus(); // not the cross, which comes first
  }, []);
  return (
    <dialog ref={dialog} className="wide-dialog" aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}
