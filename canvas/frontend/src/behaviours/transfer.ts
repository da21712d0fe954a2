// Canvases to files and back: as JSON, as the spec they compile to, as pictures.
import { writeCanvas } from "../model/document";
import { objectOr } from "../model/json";
import { readProblems } from "../model/problems";
import { exported, fileName, imported, MOST_BYTES, withContent } from "../model/transfer";
import { Refused, request } from "../server/requests";
import { canvasNow, change, choose, editor, say } from "../store";

function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const json = (text: string) => new Blob([text], { type: "application/json" });

export function exportCanvas(): void {
  const canvas = canvasNow();
  download(json(exported(canvas)), fileName(canvas.name, "canvas.json"));
}

// What the drawing, as it is now, compiles to; the server says it, saved or not.
export async function exportSpec(): Promise<void> {
  const canvas = canvasNow();
  try {
    const body = { name: canvas.name, status: "draft", ...writeCanvas(canvas) };
    const answer = await request("POST", "/workflows/validate", { body });
    if (answer.spec) {
      download(json(`${JSON.stringify(answer.spec, null, 2)}\n`), fileName(canvas.name, "spec.json"));
      return;
    }
    const [first] = readProblems(answer);
    say(`There is no spec while the canvas has errors.${first ? ` The first: ${first.message}.` : ""}`, true);
  } catch (error) {
    say(`The spec was not exported: ${reason(error)}`, true);
  }
}

// Asks for a file and takes what it holds for the content of this canvas, as one step that undo takes back.
export function importFile(fit: () => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.onchange = () => {
    const file = input.files?.[0];
    if (file) void take(file).then((isTaken) => isTaken && fit());
  };
  input.click();
}

async function take(file: File): Promise<boolean> {
  if (file.size > MOST_BYTES) return refuse(`${file.name} is larger than ${MOST_BYTES / 1_000_000} MB.`);
  return takeText(await file.text(), file.name);
}

// True when the canvas holds it now.
export async function takeText(text: string, name: string): Promise<boolean> {
  const read = imported(text);
  if ("fault" in read) return refuse(`${name} was not imported. ${read.fault}`);
  let content = "canvas" in read ? read.canvas : {};
  let leftOut: string[] = [];
  if ("spec" in read) {
    try {
      content = await request("POST", "/workflows/draw", { body: { spec: read.spec } });
      leftOut = Array.isArray(content.leftOut) ? content.leftOut.map(String) : [];
    } catch (error) {
      return refuse(`${name} was not imported. ${reason(error)}`);
    }
  }
  if (!editor.getState().mayEdit) return false;
  change((canvas) => withContent(canvas, content));
  choose([]);
  const { nodes, edges } = canvasNow();
  const missing = leftOut.length ? ` Not drawn: ${leftOut.join(" ")}` : "";
  say(`${name}: ${nodes.length} nodes and ${edges.length} connections.${missing}`, leftOut.length > 0);
  return true;
}

function refuse(text: string): boolean {
  say(text, true);
  return false;
}

function reason(error: unknown): string {
  if (!(error instanceof Refused)) return error instanceof Error ? error.message : String(error);
  const { details } = error.answer;
  const first = Array.isArray(details) ? objectOr(details[0]) : {};
  const where = first.path ? `${first.path}: ` : "";
  return first.message ? `${error.message} The first problem: ${where}${first.message}` : error.message;
}

export async function exportImage(kind: "png" | "svg"): Promise<void> {
  const { draw } = await import("./picture");
  const name = fileName(canvasNow().name, kind);
  try {
    const picture = await draw(kind);
    if (picture) download(picture, name);
    else say("There is nothing on the canvas to draw.", true);
  } catch (error) {
    say(`The picture was not made: ${error instanceof Error ? error.message : error}`, true);
  }
}
