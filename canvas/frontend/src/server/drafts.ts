// What was drawn and not saved yet, kept in this browser (IndexedDB), by workflow. Owns the database; keeps nothing else.
import type { JsonObject } from "../model/json";

export interface Draft {
  version: number; // the saved version that it was made on
  at: string;
  canvas: JsonObject; // name, description, status, nodes, edges
}

const STORE = "drafts";

function opened(): Promise<IDBDatabase> {
  return new Promise((done, failed) => {
    const request = indexedDB.open("poimen-canvas", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
}

async function act<T>(mode: IDBTransactionMode, what: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await opened();
  try {
    return await new Promise<T>((done, failed) => {
      const transaction = database.transaction(STORE, mode);
      const request = what(transaction.objectStore(STORE));
      transaction.oncomplete = () => done(request.result);
      transaction.onabort = () => failed(transaction.error);
    });
  } finally {
    database.close();
  }
}

export function draftOf(workflow: string): Promise<Draft | undefined> {
  return act("readonly", (store) => store.get(workflow));
}

export function keepDraft(workflow: string, draft: Draft): Promise<unknown> {
  return act("readwrite", (store) => store.put(draft, workflow));
}

export function dropDraft(workflow: string): Promise<unknown> {
  return act("readwrite", (store) => store.delete(workflow));
}
