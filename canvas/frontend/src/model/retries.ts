// How often a step is tried, and how long it waits in between: a number of attempts, or an object with more to say.
import { durationFault, secondsOf } from "./durations";
import { isObject, type Json, type JsonObject } from "./json";

export const MOST_ATTEMPTS = 10;

export interface Defaults {
  attempts: number;
  backoff: number;
}

const INITIAL = "2s";
const MOST_WAIT = "5m";
export const PRESETS = { initialInterval: INITIAL, maxInterval: MOST_WAIT, jitter: "0.1" };

export function detailsOf(retry: Json | undefined): JsonObject {
  if (isObject(retry)) return retry;
  return retry === undefined || retry === null ? {} : { maxAttempts: retry };
}

// One key set or taken away; what says no more than a number of attempts is written as that number.
export function withDetail(retry: Json | undefined, key: string, value: Json | undefined): Json | undefined {
  const { [key]: _, ...rest } = detailsOf(retry);
  const next: JsonObject = value === undefined ? rest : { ...rest, [key]: value };
  const keys = Object.keys(next);
  if (!keys.length) return undefined;
  return keys.length === 1 && keys[0] === "maxAttempts" && typeof next.maxAttempts === "number"
    ? next.maxAttempts
    : next;
}

// A text as the number that it is, or as it stands, which the server will refuse with its reason.
export function numberOr(text: string): Json | undefined {
  if (!text.trim()) return undefined;
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

export function faultOf(key: string, value: Json | undefined): string {
  if (value === undefined) return "";
  if (key === "maxAttempts") {
    const isRight = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST_ATTEMPTS;
    return isRight ? "" : `Expected a whole number, 1 to ${MOST_ATTEMPTS}.`;
  }
  if (key === "backoffCoefficient") {
    return typeof value === "number" && value >= 1 && value <= 100 ? "" : "Expected a number, 1 to 100.";
  }
  if (key === "jitter")
    return typeof value === "number" && value >= 0 && value <= 1 ? "" : "Expected a number, 0 to 1.";
  if (key === "initialInterval" && (value === "0s" || value === "0ms")) return "";
  return typeof value === "string" ? durationFault(value, 86_400) : "Expected a duration such as 30s.";
}

// The waits between the attempts in seconds, without the random part; none where something is wrong.
export function waits(retry: Json | undefined, defaults: Defaults): number[] {
  const { maxAttempts, initialInterval = INITIAL, backoffCoefficient, maxInterval = MOST_WAIT } = detailsOf(retry);
  const attempts = maxAttempts ?? defaults.attempts;
  const factor = backoffCoefficient ?? defaults.backoff;
  const first = secondsOf(String(initialInterval));
  const most = secondsOf(String(maxInterval));
  if (typeof attempts !== "number" || typeof factor !== "number" || first === null || most === null) return [];
  const count = Math.max(0, Math.min(attempts, MOST_ATTEMPTS) - 1);
  return Array.from({ length: count }, (_, index) => Math.min(first * factor ** index, most));
}

export function spokenSeconds(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  const whole = Math.round(seconds * 10) / 10;
  const minutes = Math.floor(whole / 60);
  const rest = Math.round((whole - minutes * 60) * 10) / 10;
  return minutes ? `${minutes}m${rest ? `${rest}s` : ""}` : `${rest}s`;
}
