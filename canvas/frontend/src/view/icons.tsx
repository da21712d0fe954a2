// Icons of 16 by 16 in strokes, as those of the pages; those of activities by their category.
import type { ReactElement } from "react";

const PATHS: Record<string, string> = {
  repository:
    "M4.5 2.5v8M4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M11.5 5.5c0 3-3.5 3-5.9 5.2",
  analysis: "M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6",
  security: "M8 2l5 1.75v3.75c0 3-2 5.25-5 6.5-3-1.25-5-3.5-5-6.5V3.75zM5.75 8l1.6 1.6 3-3.3",
  llm: "M8 2l1.4 3.6L13 7 9.4 8.4 8 12 6.6 8.4 3 7l3.6-1.4zM12.5 11v3M11 12.5h3",
  reporting: "M4 2h5.5L12 4.5V14H4zM9.5 2v2.5H12M6 8h4M6 10.75h4",
  storage:
    "M3 4.25C3 3 5.25 2.25 8 2.25s5 .75 5 2-2.25 2-5 2-5-.75-5-2v7.5c0 1.25 2.25 2 5 2s5-.75 5-2v-7.5M3 8c0 1.25 2.25 2 5 2s5-.75 5-2",
  notification: "M4 11V7a4 4 0 0 1 8 0v4l1.25 1.25H2.75zM6.75 14h2.5",
  integration:
    "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M2.25 8h11.5M8 2.25c2 1.75 2.5 3.75 2.5 5.75S10 12 8 13.75C6 12 5.5 10 5.5 8S6 4 8 2.25",
  approval:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.75 13.5c.4-2.6 2-3.75 4.25-3.75 1.2 0 2.2.3 3 1M9.5 12.25l1.5 1.5 3-3.25",
  memory: "M8 3.5c-1.5-1-3.5-1.25-5.5-1v10c2-.25 4 0 5.5 1 1.5-1 3.5-1.25 5.5-1v-10c-2-.25-4 0-5.5 1M8 3.5v10",
  testing: "M6 2.25h4M6.75 2.25V6l-3.5 6.25c-.4.75 0 1.5.85 1.5h7.8c.85 0 1.25-.75.85-1.5L9.25 6V2.25M5 9.75h6",
  wait: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M8 4.75V8l2.25 1.5",
  waitforsignal: "M3 8h8M8 4.5 11.5 8 8 11.5M13.5 3v10",
  workflow: "M2.5 3h4.5v4H2.5zM9 9h4.5v4H9zM7 5h4v4",
  fail: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M5.75 5.75l4.5 4.5M10.25 5.75l-4.5 4.5",
  other: "M8 2l5 3v6l-5 3-5-3V5zM3 5l5 3 5-3M8 8v6",
  unknown:
    "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M6.25 6.25a1.75 1.75 0 1 1 2.6 1.5c-.6.35-.85.7-.85 1.25M8 11.25v.01",
  note: "M3 3h10v7l-3 3H3zM13 10h-3v3M5.5 6h5M5.5 8.5h3",
  group: "M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",
  open: "m4 6.5 4 4 4-4",
  closed: "m6.5 4 4 4-4 4",
  pin: "M5.5 2.5h5M6.5 2.5v4L4.5 9h7l-2-2.5v-4M8 9v4.5",
  more: "M3.5 8v.01M8 8v.01M12.5 8v.01",
  edit: "M3 13l.75-3L10.5 3.25a1.4 1.4 0 0 1 2 0l.25.25a1.4 1.4 0 0 1 0 2L6 12.25zM9.5 4.5l2 2",
  download: "M8 2.5v7.5M4.75 7 8 10.25 11.25 7M3 13.5h10",
  upload: "M8 10.5V3M4.75 6 8 2.75 11.25 6M3 13.5h10",
  image: "M2.5 3h11v10h-11zM2.5 11l3.25-3.5 2.5 2.5L10.5 8l3 3M10 5.75v.01",
  "align-left": "M2.5 2.5v11M5 4h8v3H5zM5 9h5v3H5z",
  "align-centre": "M8 2v2M8 7v2M8 12v2M3.5 4h9v3h-9zM5.25 9h5.5v3h-5.5z",
  "align-right": "M13.5 2.5v11M3 4h8v3H3zM6 9h5v3H6z",
  "align-top": "M2.5 2.5h11M4 5h3v8H4zM9 5h3v5H9z",
  "align-middle": "M2 8h2M7 8h2M12 8h2M4 3.5h3v9H4zM9 5.25h3v5.5H9z",
  "align-bottom": "M2.5 13.5h11M4 3h3v8H4zM9 6h3v5H9z",
  "distribute-x": "M2.5 2.5v11M13.5 2.5v11M6.5 5h3v6h-3z",
  "distribute-y": "M2.5 2.5h11M2.5 13.5h11M5 6.5h6v3H5z",
  start: "M5 3.5v9L12.5 8z",
  end: "M4 4h8v8H4z",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M5.5 3 2.5 6l3 3",
  redo: "M13 6H6.5a3.5 3.5 0 0 0 0 7H10M10.5 3l3 3-3 3",
  arrange: "M2 6.25h3.5v3.5H2zM10.5 2.5H14V6h-3.5zM10.5 10H14v3.5h-3.5zM5.5 8H8M8 4.25v7.5M8 4.25h2.5M8 11.75h2.5",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  trash: "M3 4.5h10M6.5 4.5V2.75h3V4.5M4.25 4.5l.6 9h6.3l.6-9M6.75 7v4M9.25 7v4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  close: "m4 4 8 8M12 4l-8 8",
  warning: "M8 2.5 14 13H2zM8 6.5v3M8 11.25v.01",
  cross: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M6 6l4 4M10 6l-4 4",
  check: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5M5.5 8.25 7.25 10l3.25-3.75",
  plus: "M8 3v10M3 8h10",
  braces:
    "M6 2.5H5c-1 0-1.5.6-1.5 1.5v2.2c0 1-.5 1.8-1.5 1.8 1 0 1.5.8 1.5 1.8V12c0 .9.5 1.5 1.5 1.5h1M10 2.5h1c1 0 1.5.6 1.5 1.5v2.2c0 1 .5 1.8 1.5 1.8-1 0-1.5.8-1.5 1.8V12c0 .9-.5 1.5-1.5 1.5h-1",
  link: "M6.5 9.5l3-3M7 4.75l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.75M9 11.25l-1.5 1.5a2.8 2.8 0 0 1-4-4L5 7.25",
  lock: "M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2M8 9.5v1.5",
  arrow: "M3 8h9.5M9 4.5 12.5 8 9 11.5",
  history: "M3 8a5 5 0 1 0 1.6-3.7M3 3v2.5h2.5M8 5.25V8l2 1.5",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h5V3M5 13V9.5h6V13",
  running: "M8 2.25a5.75 5.75 0 0 1 5.75 5.75M6.75 5.75v4.5L10.25 8z",
  pause: "M5.5 3v10M10.5 3v10",
  stop: "M4.5 4.5h7v7h-7z",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13.25 2v3h-3",
  compare: "M3 3.5h4v9H3zM9 3.5h4v9H9z",
  down: "m4 6 4 4 4-4",
  up: "m4 10 4-4 4 4",
  right: "m6 4 4 4-4 4",
  minus: "M3 8h10",
  search: "M7 2.75a4.25 4.25 0 1 0 0 8.5 4.25 4.25 0 0 0 0-8.5M10.25 10.25l3.25 3.25",
};

export function Icon({ name }: { name: string }): ReactElement {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name] ?? PATHS.other} />
    </svg>
  );
}
