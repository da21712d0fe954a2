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
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="wide-dialog" aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}
