// How several nodes fare in a run, summed up: what wants a look first comes first.
const ORDER = ["failed", "interrupted", "running", "waiting", "held", "ready", "cancelled", "success", "not run"];

// How many of these nodes are in each state; those of which the run says nothing are not counted.
export function tally(
  keys: string[],
  fates: ReadonlyMap<string, { status: string }>,
): [status: string, count: number][] {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const status = fates.get(key)?.status;
    if (status) counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const rank = (status: string) => (ORDER.includes(status) ? ORDER.indexOf(status) : ORDER.length);
  return [...counts].sort(([one], [other]) => rank(one) - rank(other));
}
