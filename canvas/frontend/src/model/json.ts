// JSON as it comes from a server or a person: any value anywhere. Owns the questions about its shape.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function textOr(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

// Equal as JSON; the order of keys does not count.
export function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length && keys.every((key) => key in other && isEqual(one[key], other[key]))
  );
}
