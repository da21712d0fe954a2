// What a version changed, as the server keeps it, in words.
import { isObject, type JsonObject, textOr } from "./json";

const MOST_NAMES = 3;

// "added Clone and Scan; changed Say (value); 2 connections"; "" where nobody kept it.
export function inWords(changes: JsonObject | null): string {
  if (!changes || !Array.isArray(changes.items)) return "";
  const items = changes.items.filter(isObject);
  if (!items.length) return "nothing changed";
  const nodes = items.filter((item) => item.what === "node");
  const said = ["added", "removed", "changed"].map((how) => {
    const names = nodes.filter((item) => item.how === how).map((item) => named(item));
    return names.length ? `${how} ${listed(names)}` : "";
  });
  const head = items.find((item) => item.what === "workflow");
  if (head) said.push(`changed the ${listed(fieldsOf(head))}`);
  const moved = nodes.filter((item) => item.how === "moved").length;
  if (moved)
    said.push(`moved ${moved === 1 ? named(nodes.find((item) => item.how === "moved") ?? {}) : `${moved} steps`}`);
  const edges = items.filter((item) => item.what === "edge");
  for (const how of ["added", "removed", "changed"]) {
    const count = edges.filter((item) => item.how === how).length;
    if (count) said.push(`${how} ${count === 1 ? "a connection" : `${count} connections`}`);
  }
  const more = Number(changes.total) - items.length;
  if (more > 0) said.push(`and ${more.toLocaleString("en")} more changes`);
  return said.filter(Boolean).join("; ");
}

function named(item: JsonObject): string {
  const fields = item.how === "changed" ? fieldsOf(item).map((path) => path.replace(/^data\.(config\.)?/, "")) : [];
  return textOr(item.name) + (fields.length ? ` (${fields.slice(0, MOST_NAMES).join(", ")})` : "");
}

function fieldsOf(item: JsonObject): string[] {
  return Array.isArray(item.fields) ? item.fields.map(String) : [];
}

function listed(names: string[]): string {
  const shown = names.slice(0, MOST_NAMES);
  const more = names.length - shown.length;
  if (more > 0) return `${shown.join(", ")} and ${more} more`;
  const last = shown.pop() ?? "";
  return shown.length ? `${shown.join(", ")} and ${last}` : last;
}
