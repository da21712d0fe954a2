// Asks for suggestions, or closes their list.
import type { ReactElement } from "react";
import { toggleSuggestions } from "../../behaviours/suggesting";
import { useSuggesting } from "../../suggestions";
import { Icon } from "../icons";

export function SuggestButton(): ReactElement {
  const isOpen = useSuggesting((state) => state.state !== "closed");
  return (
    <button
      type="button"
      className="plain"
      title="Suggest connections (s)"
      aria-pressed={isOpen}
      onClick={toggleSuggestions}
    >
      <Icon name="llm" />
      <span className="hidden">Suggest connections</span>
    </button>
  );
}
