// On an empty canvas the quickest way to begin: say what should happen.
import { type ReactElement, useState } from "react";
import { Icon } from "../icons";
import "./describe.css";

export function FirstSentence({ onSay }: { onSay: (message: string) => void }): ReactElement {
  const [message, setMessage] = useState("");
  return (
    <form
      className="describe-first"
      onSubmit={(event) => {
        event.preventDefault();
        onSay(message);
      }}
    >
      <label>
        <span className="hidden">Describe it in a sentence</span>
        <input
          dir="auto"
          autoComplete="off"
          maxLength={4000}
          value={message}
          placeholder="Describe it: scan https://… every night and write a report"
          onChange={(event) => setMessage(event.target.value)}
        />
      </label>
      <button type="submit" className="button primary">
        <Icon name="llm" />
        Describe it
      </button>
    </form>
  );
}
