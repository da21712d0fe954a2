// One line of text with its label.
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
