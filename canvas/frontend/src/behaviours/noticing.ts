// Notices that somebody else saved a newer version while one draws, not only when one saves.
import { useEffect } from "react";
import { readCanvas } from "../model/document";
import { Refused, request } from "../server/requests";
import { editor } from "../store";
import { whoSaved } from "./saving";

const EVERY = 20_000; // ms, while the page is seen

export async function lookForNewer(): Promise<void> {
  const { workflow, saved, saving, newer } = editor.getState();
  if (saving.state === "saving") return;
  const known = [saved.version, newer?.version, saving.state === "conflict" ? saving.theirs.version : undefined];
  const tags = known.filter((version) => version !== undefined).map((version) => `"${version}"`);
  try {
    const answer = await request("GET", `/workflows/${workflow}`, { headers: { "If-None-Match": tags.join(", ") } });
    const theirs = { version: Number(answer.version), canvas: readCanvas(answer), ...(await whoSaved(workflow)) };
    const now = editor.getState();
    if (now.saving.state === "saving" || theirs.version <= now.saved.version) return;
    if (now.saving.state === "conflict") editor.setState({ saving: { ...now.saving, theirs } });
    else editor.setState({ newer: theirs });
  } catch (error) {
    // 304: nobody saved. Whatever else goes wrong is told where something is sent.
    if (!(error instanceof Refused)) throw error;
  }
}

export function useNoticing(): void {
  useEffect(() => {
    let last = Date.now();
    function look(): void {
      if (document.visibilityState !== "visible") return;
      last = Date.now();
      void lookForNewer();
    }
    function lookAgain(): void {
      if (Date.now() - last > 1000) look();
    }
    const timer = window.setInterval(look, EVERY);
    addEventListener("focus", lookAgain);
    addEventListener("visibilitychange", lookAgain);
    return () => {
      window.clearInterval(timer);
      removeEventListener("focus", lookAgain);
      removeEventListener("visibilitychange", lookAgain);
    };
  }, []);
}

// Two versions to choose from: opens the question that a save would ask.
export function decide(): void {
  const { newer, saved, saving } = editor.getState();
  if (newer && saving.state !== "conflict" && saving.state !== "saving") {
    editor.setState({ saving: { state: "conflict", theirs: newer, base: saved.canvas }, newer: null });
  }
}
