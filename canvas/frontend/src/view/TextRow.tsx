// One line of text with its label; and how a number of things is said.
import type { ReactElement } from "react";

export function TextRow({
  label,
  value,
  placeholder = "",
  about = "",
  disabled,
  onChange,
}: {
  label: string;
  value: string;
  placeholder?: string;
  about?: string;
  disabled: boolean;
  onChange: (text: string) => void;
}): ReactElement {
  return (
    <label className="field">
      {label}
      <input
        dir="auto"
        value={value}
        placeholder={placeholder}
        disabled={disabled}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
      {about && <span className="about">{about}</span>}
    </label>
  );
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
