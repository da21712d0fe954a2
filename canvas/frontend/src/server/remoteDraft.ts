// The draft that the server keeps of a workflow for its user, so that another browser goes on with it.
import { type JsonObject, objectOr, textOr } from "../model/json";
import { Refused, request } from "./requests";

export interface RemoteDraft {
  revision: string; // new with every write
  version: number; // the saved version that it was made on
  at: string;
  canvas: JsonObject;
}

// Somebody - another tab or browser of the same person - wrote it since; `revision` is "" when it is gone.
export class WrittenElsewhere extends Error {
  readonly revision: string;

  constructor(refused: Refused) {
    super(refused.message);
    this.revision = textOr(objectOr(refused.answer.details).revision);
  }
}

const MOST_AT_THE_END = 60_000; // bytes: browsers send no more behind a page that is going

function path(workflow: string): string {
  return `/workflows/${encodeURIComponent(workflow)}/draft`;
}

// Null when there is none, nor a workflow any more.
export async function remoteDraftOf(workflow: string, signal?: AbortSignal): Promise<RemoteDraft | null> {
  try {
    const answer = await request("GET", path(workflow), signal ? { signal } : {});
    const { revision, baseVersion, updatedAt } = answer;
    if (!textOr(revision)) return null;
    return { revision: textOr(revision), version: Number(baseVersion), at: textOr(updatedAt), canvas: answer };
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

// Keeps the canvas over the draft of this revision ("": there is none yet) and answers the new one.
// `isLast`: the page is going; what is too large then is not sent, which answers "".
export async function keepRemoteDraft(
  workflow: string,
  version: number,
  canvas: JsonObject,
  over: string,
  isLast: boolean,
): Promise<string> {
  const body = { ...canvas, baseVersion: version };
  if (isLast && new Blob([JSON.stringify(body)]).size > MOST_AT_THE_END) return "";
  const headers: Record<string, string> = over ? { "If-Match": `"${over}"` } : { "If-None-Match": "*" };
  const answer = await heeded(request("PUT", path(workflow), { body, headers, keepalive: isLast }));
  return textOr(answer.revision);
}

export async function dropRemoteDraft(workflow: string, revision: string): Promise<void> {
  await heeded(request("DELETE", path(workflow), { headers: { "If-Match": `"${revision}"` } }));
}

async function heeded(asked: Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof Refused && error.status === 409 ? new WrittenElsewhere(error) : error;
  }
}
