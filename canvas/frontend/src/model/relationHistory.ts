// How the meaning of a connection changed, from what the server keeps of it.
import { isEqual, type Json, type JsonObject, objectOr, textOr } from "./json";

export interface Turn {
  version: number; // of the meaning
  workflowVersion: number;
  by: string;
  at: string;
  reason: string;
  changes: { what: string; before: string; after: string }[];
}

const NAMES: Record<string, string> = {
  relation_type: "type",
  relation_label: "label",
  condition: "condition",
  on_error: "taken on errors",
  verb: "verb",
  source_output: "gives",
  target_input: "needs",
  connection_type: "kind of connection",
  confidence: "confidence",
  semantic_match: "why they fit",
  transformer_needed: "transformation needed",
};

// Newest first, each with what it changed; the first one says what there was at all.
export function turnsOf(versions: JsonObject[]): Turn[] {
  const turns = versions.map((version, index) => {
    const [before, after] = [meaningOf(versions[index - 1]), meaningOf(version)];
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return {
      version: Number(version.version),
      workflowVersion: Number(version.workflow_version),
      by: textOr(version.created_by),
      at: textOr(version.created_at),
      reason: textOr(version.change_reason),
      changes: keys
        .filter((key) => !isEqual(before[key], after[key]))
        .map((key) => ({ what: NAMES[key] ?? key, before: spoken(before[key]), after: spoken(after[key]) })),
    };
  });
  return turns.reverse();
}

function meaningOf(version: JsonObject | undefined): JsonObject {
  if (!version) return {};
  const said = {
    relation_type: version.relation_type ?? "",
    relation_label: version.relation_label ?? "",
    ...objectOr(version.relation_wording),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== "" && value !== null));
}

function spoken(value: Json | undefined): string {
  if (value === undefined) return "";
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 500);
}
