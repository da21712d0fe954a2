// When something was, as people say it: "at 14:05" today, "on 3 March at 14:05" before.
export function spokenTime(at: string, now = new Date()): string {
  const when = new Date(at);
  if (Number.isNaN(when.getTime())) return "";
  const time = when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (when.toDateString() === now.toDateString()) return `at ${time}`;
  const isThisYear = when.getFullYear() === now.getFullYear();
  const day = when.toLocaleDateString([], { day: "numeric", month: "short", ...(!isThisYear && { year: "numeric" }) });
  return `on ${day} at ${time}`;
}
