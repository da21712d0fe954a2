// What was drawn and not saved yet, kept in this browser (IndexedDB): a draft of each workflow for each tab.
// Owns the database and who of the tabs is alive; keeps nothing else.
import type { JsonObject } from "../model/json";

export interface Draft {
  version: number; // the saved version that it was made on
  at: string;
  canvas: JsonObject; // name, description, status, nodes, edges
  user: string; // whose it is: people share browsers
  revision: string; // of the draft on the server that this one goes on from, "" for none
}

export interface LeftDraft {
  key: string;
  draft: Draft;
}

const STORE = "drafts";
const TAB = "poimen tab";
const PATIENCE = 800; // ms: a page that is reloaded lets go of its name a moment after the next one asks for it

let claimed: Promise<string> | null = null;

// The name of this tab: the same after a reload, another one in every tab, even one that was duplicated.
export function tabName(): Promise<string> {
  claimed ??= claim();
  return claimed;
}

async function claim(): Promise<string> {
  const before = remembered();
  if (before && (await hold(before))) return before;
  const name = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
  try {
    sessionStorage.setItem(TAB, name);
  } catch {
    // A browser that remembers nothing: after a reload the draft counts as that of a tab that is gone.
  }
  await hold(name);
  return name;
}

function remembered(): string {
  try {
    return sessionStorage.getItem(TAB) ?? "";
  } catch {
    return "";
  }
}

// Holds the name for as long as the page lives; false when another page holds it.
function hold(name: string): Promise<boolean> {
  if (!navigator.locks) return Promise.resolve(true); // plain HTTP from elsewhere has none
  return new Promise((done) => {
    const control = new AbortController();
    const timer = window.setTimeout(() => control.abort(), PATIENCE);
    navigator.locks
      .request(lockOf(name), { signal: control.signal }, () => {
        window.clearTimeout(timer);
        done(true);
        return new Promise<void>(() => undefined);
      })
      .catch(() => done(false));
  });
}

function lockOf(name: string): string {
  return `poimen draft ${name}`;
}

async function living(): Promise<Set<string>> {
  if (!navigator.locks) return new Set();
  const { held = [] } = await navigator.locks.query();
  return new Set(held.map((lock) => lock.name ?? ""));
}

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

// The user's drafts of the workflow: of this tab and of tabs that are gone, and of others that are open beside it.
export async function draftsOf(workflow: string, user: string): Promise<{ left: LeftDraft[]; open: LeftDraft[] }> {
  const range = IDBKeyRange.bound(workflow, `${workflow} \uffff`);
  const [keys, drafts] = await Promise.all([
    act("readonly", (store) => store.getAllKeys(range)),
    act<Draft[]>("readonly", (store) => store.getAll(range)),
  ]);
  const own = keyOf(workflow, await tabName());
  const locks = await living();
  const all = drafts
    .map((draft, index) => ({ key: String(keys[index]), draft: { ...draft, revision: draft.revision ?? "" } }))
    .filter(({ draft }) => draft.user === undefined || draft.user === user);
  const isOpen = ({ key }: LeftDraft) => key !== own && locks.has(lockOf(key.slice(workflow.length + 1)));
  return { left: all.filter((one) => !isOpen(one)), open: all.filter(isOpen) };
}

function keyOf(workflow: string, tab: string): string {
  return `${workflow} ${tab}`;
}

// Keeps the draft of this tab, which takes the place of those whose keys are given.
export async function keepDraft(workflow: string, draft: Draft, instead: string[] = []): Promise<void> {
  const own = keyOf(workflow, await tabName());
  await act("readwrite", (store) => store.put(draft, own));
  for (const key of instead) if (key !== own) await act("readwrite", (store) => store.delete(key));
}

// Forgets the draft of this tab, and of those whose keys are given.
export async function dropDrafts(workflow: string, keys: string[] = []): Promise<void> {
  const own = keyOf(workflow, await tabName());
  for (const key of new Set([own, ...keys])) await act("readwrite", (store) => store.delete(key));
}
