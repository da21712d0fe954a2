// One tab of a list of tabs, in the side panel and in dialogs.
import type { ReactElement } from "react";

export function Tab<T extends string>({
  name,
  now,
  set,
  text,
}: {
  name: T;
  now: T;
  set: (name: T) => void;
  text: string;
}): ReactElement {
  return (
    <button type="button" role="tab" aria-selected={name === now} onClick={() => set(name)}>
      {text}
    </button>
  );
}
