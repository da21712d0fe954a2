// The customer's secrets by name; their values never leave the server.

import { textOr } from "../model/json";
import { requestList } from "./requests";

export interface Secret {
  handle: string; // what is written into a field
  name: string;
  createdAt: string;
  expiresAt: string; // "" for never
}

const KEPT = 30_000; // ms
let kept: { until: number; answer: Promise<Secret[]> } | null = null;

export function secrets(): Promise<Secret[]> {
  if (kept && kept.until > Date.now()) return kept.answer;
  const answer = requestList("/secrets?limit=100").then((list) =>
    list.map((one) => ({
      handle: textOr(one.handle),
      name: textOr(one.name),
      createdAt: textOr(one.createdAt),
      expiresAt: textOr(one.expiresAt),
    })),
  );
  kept = { until: Date.now() + KEPT, answer };
  answer.catch(() => {
    kept = null;
  });
  return answer;
}

export const HANDLE = /^secret:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
