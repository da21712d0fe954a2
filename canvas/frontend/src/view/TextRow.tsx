// One line of text with its label; and how a number of things is said.
import type { ReactElement } from "react";

export function TextRow({
  label,
  value,
  placeholder = "",
  about = "",
  fault = "",
  disabled,
  onChange,
}: {
  label: string;
  value: string;
  placeholder?: string;
  about?: string;
  fault?: string; // what is wrong with it
  disabled: boolean;
  onChange: (text: string) => void;
}): ReactElement {
  return (
    <label className={`field${fault ? " wrong" : ""}`}>
      {label}
      <input
        dir="auto"
        value={value}
        placeholder={placeholder}
        disabled={disabled}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={fault !== "" || undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {fault && <strong className="problem-text">{fault}</strong>}
      {about && <span className="about">{about}</span>}
    </label>
  );
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
