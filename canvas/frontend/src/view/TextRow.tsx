// One line of text with its label; and how a number of things is said.
import { type ReactElement, useId } from "react";

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
  const id = useId();
  return (
    <div className={`field${fault ? " wrong" : ""}`}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        dir="auto"
        value={value}
        placeholder={placeholder}
        disabled={disabled}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={fault !== "" || undefined}
        aria-describedby={fault || about ? `${id}-about` : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {(fault || about) && (
        <p id={`${id}-about`} className="about">
          {fault && <strong className="problem-text">{fault} </strong>}
          {about}
        </p>
      )}
    </div>
  );
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
