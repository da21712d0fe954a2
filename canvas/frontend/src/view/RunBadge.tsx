// How a node fares in the run that is watched: icon, word, attempt, count, progress and duration.
import type { ReactElement } from "react";
import { isOpen } from "../model/run";
import { useRun } from "../run";
import { Icon } from "./icons";

export const TONES: Record<string, [tone: string, icon: string, word: string]> = {
  ready: ["busy", "wait", "ready"],
  running: ["busy", "running", "running"],
  waiting: ["wait", "wait", "waiting"],
  held: ["wait", "wait", "held"],
  success: ["good", "check", "done"],
  failed: ["bad", "cross", "failed"],
  timed_out: ["bad", "cross", "timed out"],
  interrupted: ["bad", "warning", "interrupted"],
  cancelled: ["idle", "cross", "cancelled"],
  skipped: ["idle", "unknown", "skipped"],
  "not run": ["idle", "unknown", "not run"],
};

export function toneOf(status: string): [tone: string, icon: string, word: string] {
  return TONES[status] ?? ["idle", "unknown", status];
}

export function RunBadge({ node }: { node: string }): ReactElement | null {
  const fate = useRun((run) => run.nodes.get(node));
  const progress = useRun((run) => run.progress.get(node));
  const isAsked = useRun((run) => run.gates.some((gate) => gate.state === node));
  if (!fate) return null;
  const [tone, icon, word] = toneOf(fate.status);
  const isMany = fate.count > 1;
  return (
    <span className={`fate tone-${tone}`} data-status={fate.status} title={progress?.message}>
      <Icon name={isAsked ? "approval" : icon} />
      {isAsked ? "waits for a decision" : word}
      {fate.attempt > 1 && ` · attempt ${fate.attempt}`}
      {isMany && ` · ${fate.ended < fate.count ? `${fate.ended} of ${fate.count}` : `${fate.count}×`}`}
      {isMany && fate.failed > 0 && ` · ${fate.failed} failed`}
      {progress && isOpen(fate.status) && ` · ${Math.round(progress.percent)} %`}
      {fate.isReused ? " · reused" : fate.milliseconds !== null && ` · ${spoken(fate.milliseconds)}`}
      {progress && isOpen(fate.status) && <progress max={100} value={progress.percent} aria-label="Progress" />}
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
