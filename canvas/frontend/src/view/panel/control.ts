// What every control of a field is given, and what of it is shown where nothing is written.
import type { Field } from "../../model/activities";
import type { Json } from "../../model/json";

export interface ControlProps {
  id: string;
  field: Field;
  value: Json | undefined; // undefined: left out
  disabled: boolean;
  describedBy: string;
  isWrong: boolean;
  onChange: (value: Json | undefined) => void;
}

export function defaultOf(field: Field): string {
  if (field.default === undefined) return "";
  return typeof field.default === "string" ? field.default : JSON.stringify(field.default);
}
