// The REST API as this page's user: session cookie, CSRF token and customer go along. Owns how failures are told.
import { isObject, type JsonObject, textOr } from "../model/json";

export class Refused extends Error {
  readonly status: number; // 0 when the server was not reached
  readonly answer: JsonObject;

  constructor(message: string, status: number, answer: JsonObject = {}) {
    super(message);
    this.status = status;
    this.answer = answer;
  }
}

function meta(name: string): HTMLMetaElement | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
}

export function customer(): string {
  return meta("customer")?.content ?? "";
}

interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  keepalive?: boolean; // sent even when the page goes
}

// Answers the JSON object of a 2xx; throws Refused with the server's sentence, or the AbortError of its signal.
export async function request(method: string, path: string, asked: Asked = {}): Promise<JsonObject> {
  const answer = await answerOf(method, path, asked);
  return isObject(answer) ? answer : {};
}

// As request, for answers that are arrays: the objects in it.
export async function requestList(path: string, asked: Asked = {}): Promise<JsonObject[]> {
  const answer = await answerOf("GET", path, asked);
  return Array.isArray(answer) ? answer.filter(isObject) : [];
}

async function answerOf(
  method: string,
  path: string,
  { body, headers, signal, keepalive = false }: Asked,
): Promise<unknown> {
  const sent: Record<string, string> = { Accept: "application/json", ...headers };
  const holder = meta("customer");
  if (holder?.dataset.header) sent[holder.dataset.header] = holder.content;
  if (method !== "GET") {
    sent["X-CSRFToken"] = meta("csrf-token")?.content ?? "";
    sent["Content-Type"] = "application/json";
  }
  let response: Response;
  try {
    const text = body === undefined ? null : JSON.stringify(body);
    response = await fetch(path, {
      method,
      headers: sent,
      body: text,
      signal: signal ?? null,
      credentials: "same-origin",
      keepalive,
    });
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new Refused("The server cannot be reached.", 0);
  }
  const answer: unknown = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const object = isObject(answer) ? answer : {};
  throw new Refused(sentence(response.status, object), response.status, object);
}

function sentence(status: number, answer: JsonObject): string {
  if (status === 401) return "You have been signed out.";
  return textOr(answer.error) || `The server answered ${status}.`;
}
