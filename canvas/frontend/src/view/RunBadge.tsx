// How a node fares in the run that is watched: icon, word, attempt and duration.
import type { ReactElement } from "react";
import { useRun } from "../run";
import { Icon } from "./icons";

export const TONES: Record<string, [tone: string, icon: string, word: string]> = {
  ready: ["busy", "wait", "ready"],
  running: ["busy", "running", "running"],
  waiting: ["wait", "wait", "waiting"],
  held: ["wait", "wait", "held"],
  success: ["good", "check", "done"],
  failed: ["bad", "cross", "failed"],
  interrupted: ["bad", "warning", "interrupted"],
  cancelled: ["idle", "cross", "cancelled"],
  "not run": ["idle", "unknown", "not run"],
};

export function RunBadge({ node }: { node: string }): ReactElement | null {
  const fate = useRun((run) => run.nodes.get(node));
  if (!fate) return null;
  const [tone, icon, word] = TONES[fate.status] ?? ["idle", "unknown", fate.status];
  return (
    <span className={`fate tone-${tone}`} data-status={fate.status}>
      <Icon name={icon} />
      {word}
      {fate.attempt > 1 && ` · attempt ${fate.attempt}`}
      {fate.count > 1 && ` · ${fate.count}×`}
      {fate.milliseconds !== null && ` · ${spoken(fate.milliseconds)}`}
    </span>
  );
}

export function spoken(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))}ms`;
  const seconds = Math.round(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [hours && `${hours}h`, minutes && `${minutes}m`, (seconds % 60 || seconds < 60) && `${seconds % 60}s`]
    .filter(Boolean)
    .join("");
}
