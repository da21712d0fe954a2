// Names of errors: those that the engine gives to pick, any other to type.
import { type ReactElement, useState } from "react";
import { ANY_ERROR, ERROR_NAMES } from "../../model/errors";

export function ErrorNames({
  names,
  mayBeAny,
  disabled,
  onChange,
}: {
  names: string[];
  mayBeAny: boolean;
  disabled: boolean;
  onChange: (names: string[]) => void;
}): ReactElement {
  const [typed, setTyped] = useState("");
  const isAny = names.includes(ANY_ERROR);
  const own = names.filter((name) => name !== ANY_ERROR && !ERROR_NAMES.includes(name));
  const turn = (name: string) =>
    onChange(
      names.includes(name) ? names.filter((one) => one !== name) : [...names.filter((one) => one !== ANY_ERROR), name],
    );
  function add(): void {
    const name = typed.trim();
    if (name && !names.includes(name)) turn(name);
    setTyped("");
  }
  return (
    <fieldset className="error-names" disabled={disabled} aria-label="Errors">
      {mayBeAny && (
        <button
          type="button"
          className="chip"
          aria-pressed={isAny}
          onClick={() => onChange(isAny ? ["ActivityError"] : [ANY_ERROR])}
        >
          any error
        </button>
      )}
      {[...ERROR_NAMES, ...own].map((name) => (
        <button
          key={name}
          type="button"
          className="chip"
          aria-pressed={names.includes(name)}
          onClick={() => turn(name)}
        >
          {name}
        </button>
      ))}
      <input
        className="chip-input"
        aria-label="Another error"
        placeholder="another, then Enter"
        value={typed}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setTyped(event.target.value)}
        onBlur={add}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
      />
    </fieldset>
  );
}
