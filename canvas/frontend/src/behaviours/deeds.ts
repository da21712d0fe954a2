// What the editor itself can do with a node, a connection, the canvas and what is chosen: for menus, with its keys.
import type { Edge } from "../model/align";
import { isStep, kindOf, labelOf } from "../model/document";
import { groupOf, isCollapsed } from "../model/groups";
import { canvasNow, choose, editor, show } from "../store";
import { copyChosen, duplicate, pasteCopied, removeChosen } from "./clipboard";
import { groupChosen, groupsOf, leaveGroup, setCollapsed, ungroupChosen } from "./grouping";
import { addDeeds, type Deed, type Spot } from "./menu";
import { askWhat, askWhere } from "./picking";
import { align, arePinned, distribute, togglePinned } from "./placing";
import { rename } from "./renaming";
import { exportCanvas, exportImage, exportSpec, importFile } from "./transfer";

export const ALIGNMENTS: [edge: Edge, label: string, shortcut: string][] = [
  ["left", "Align left", "Alt Shift ←"],
  ["centre", "Align centres", "Alt Shift c"],
  ["right", "Align right", "Alt Shift →"],
  ["top", "Align top", "Alt Shift ↑"],
  ["middle", "Align middles", "Alt Shift m"],
  ["bottom", "Align bottom", "Alt Shift ↓"],
];

// `view`: what needs the drawing surface.
export interface View {
  arrange: () => void;
  fit: () => void;
  addNote: (spot: Spot) => void;
  connect: () => void;
  toggleMap: () => void;
}

export function addOwnDeeds(view: View): () => void {
  const taken = [
    addDeeds("node", (spot) => (spot.kind === "node" ? nodeDeeds(spot) : [])),
    addDeeds("edge", (spot) => (spot.kind === "edge" ? edgeDeeds(spot) : [])),
    addDeeds("selection", (spot) => (spot.kind === "selection" ? selectionDeeds(spot, view) : [])),
    addDeeds("canvas", (spot) => (spot.kind === "canvas" ? canvasDeeds(spot, view) : [])),
    addDeeds("file", (spot) => (spot.kind === "canvas" || spot.kind === "file" ? fileDeeds(view) : [])),
  ];
  return () => {
    for (const take of taken) take();
  };
}

function nodeDeeds({ nodes: [key = ""], at, place }: Spot): Deed[] {
  const canvas = canvasNow();
  const node = canvas.nodes.find((one) => one.key === key);
  if (!node) return [];
  const isGroup = kindOf(node) === "group";
  const toggle: Deed[] = isGroup
    ? [
        {
          id: "collapse",
          label: isCollapsed(node) ? "Expand" : "Collapse",
          section: "group",
          icon: isCollapsed(node) ? "open" : "closed",
          shortcut: ".",
          run: () => setCollapsed([key], !isCollapsed(node)),
        },
      ]
    : [];
  if (!editor.getState().mayEdit) return toggle;
  const isMember = groupsOf(canvas, [key]).length > 0 && !isGroup;
  const from = { x: place.x + 60, y: place.y };
  return [
    {
      id: "rename",
      label: kindOf(node) === "note" ? "Write" : "Rename",
      section: "open",
      icon: "edit",
      shortcut: "F2",
      run: () => rename(key),
    },
    ...(isStep(node) && kindOf(node) !== "end"
      ? [
          {
            id: "add-after",
            label: "Add what comes next…",
            section: "open" as const,
            icon: "plus",
            shortcut: "n",
            run: () => askWhat({ at, place: from, from: key, isForwards: true }),
          },
        ]
      : []),
    ...(isStep(node) && kindOf(node) !== "end"
      ? [
          {
            id: "connect",
            label: "Connect it with…",
            section: "open" as const,
            icon: "link",
            shortcut: "c",
            run: () => askWhere(key),
          },
        ]
      : []),
    ...editDeeds(),
    {
      id: "pin",
      label: "Pinned in its place",
      section: "arrange",
      icon: "pin",
      shortcut: "i",
      isChecked: arePinned([key]),
      run: togglePinned,
    },
    ...toggle,
    ...(isGroup ? [ungroupDeed()] : [groupDeed("Put into a group"), ...(isMember ? [leaveDeed(groupOf(node))] : [])]),
    removeDeed(isGroup ? "Remove with its members" : "Remove"),
  ];
}

function edgeDeeds({ edges: [key = ""], at, place }: Spot): Deed[] {
  const edge = canvasNow().edges.find((one) => one.key === key);
  if (!edge) return [];
  const label = (end: string) => {
    const node = canvasNow().nodes.find((one) => one.key === end);
    return (node ? labelOf(node) : end).slice(0, 32);
  };
  const go: Deed[] = [
    { id: "source", label: `Go to ${label(edge.source)}`, section: "open", run: () => show(edge.source) },
    { id: "target", label: `Go to ${label(edge.target)}`, section: "open", run: () => show(edge.target) },
  ];
  if (!editor.getState().mayEdit) return go;
  return [
    ...go,
    {
      id: "splice",
      label: "Add a step in between…",
      section: "edit",
      icon: "plus",
      shortcut: "n",
      run: () => askWhat({ at, place, from: "", isForwards: true, edge: key }),
    },
    removeDeed("Remove"),
  ];
}

function selectionDeeds(spot: Spot, view: View): Deed[] {
  if (!editor.getState().mayEdit) return [];
  const hasTwo = spot.nodes.length > 1;
  const lines = ALIGNMENTS.map(
    ([edge, label, shortcut]): Deed => ({ id: edge, label, section: "arrange", shortcut, run: () => align(edge) }),
  );
  const spread: Deed[] =
    spot.nodes.length > 2
      ? [
          {
            id: "across",
            label: "Distribute across",
            section: "arrange",
            shortcut: "Alt Shift h",
            run: () => distribute("x"),
          },
          {
            id: "down",
            label: "Distribute down",
            section: "arrange",
            shortcut: "Alt Shift v",
            run: () => distribute("y"),
          },
        ]
      : [];
  const pin: Deed = {
    id: "pin",
    label: "Pinned in their places",
    section: "arrange",
    icon: "pin",
    shortcut: "i",
    isChecked: arePinned(spot.nodes),
    run: togglePinned,
  };
  return [
    ...(spot.nodes.length === 2
      ? [
          {
            id: "connect",
            label: "Connect, left to right",
            section: "edit" as const,
            icon: "link",
            shortcut: "c",
            run: view.connect,
          },
        ]
      : []),
    ...(spot.nodes.length ? editDeeds() : []),
    ...(hasTwo
      ? [
          {
            id: "arrange",
            label: "Arrange these",
            section: "arrange" as const,
            icon: "arrange",
            shortcut: "l",
            run: view.arrange,
          },
          ...lines,
          ...spread,
          pin,
          groupDeed("Group"),
        ]
      : []),
    ...(groupsOf(canvasNow(), spot.nodes).length ? [ungroupDeed()] : []),
    removeDeed("Remove"),
  ];
}

function canvasDeeds(spot: Spot, view: View): Deed[] {
  const { mayEdit } = editor.getState();
  const look: Deed[] = [
    { id: "fit", label: "Fit into view", section: "arrange", icon: "fit", shortcut: "f", run: view.fit },
  ];
  if (!mayEdit) return look;
  return [
    {
      id: "add",
      label: "Add a step here…",
      section: "open",
      icon: "plus",
      run: () => askWhat({ at: spot.at, place: spot.place, from: "", isForwards: true }),
    },
    {
      id: "note",
      label: "Add a note here",
      section: "open",
      icon: "note",
      shortcut: "w",
      run: () => view.addNote(spot),
    },
    { id: "paste", label: "Paste", section: "edit", shortcut: "Ctrl V", run: () => void pasteCopied() },
    {
      id: "all",
      label: "Choose all",
      section: "edit",
      shortcut: "Ctrl A",
      run: () =>
        choose(
          canvasNow().nodes.map((node) => node.key),
          canvasNow().edges.map((edge) => edge.key),
        ),
    },
    { id: "arrange", label: "Arrange all", section: "arrange", icon: "arrange", shortcut: "l", run: view.arrange },
    ...look,
  ];
}

function fileDeeds(view: View): Deed[] {
  const { mayEdit, history } = editor.getState();
  const isEmpty = history.present.nodes.length === 0;
  const empty = isEmpty ? { isDisabled: true, why: "Nothing is drawn" } : {};
  const file = (id: string, label: string, icon: string, run: () => void): Deed => ({
    id,
    label,
    section: "file",
    icon,
    run,
    ...(id === "import" ? {} : empty),
  });
  return [
    ...(mayEdit ? [file("import", "Import a canvas or spec…", "upload", () => importFile(view.fit))] : []),
    file("export", "Export the canvas (JSON)", "download", exportCanvas),
    file("spec", "Export the spec (JSON)", "braces", () => void exportSpec()),
    file("png", "Export a picture (PNG)", "image", () => void exportImage("png")),
    file("svg", "Export a drawing (SVG)", "image", () => void exportImage("svg")),
    { id: "map", label: "Overview", section: "arrange", shortcut: "m", run: view.toggleMap },
  ];
}

function editDeeds(): Deed[] {
  return [
    { id: "copy", label: "Copy", section: "edit", icon: "copy", shortcut: "Ctrl C", run: () => copyChosen("copy") },
    { id: "cut", label: "Cut", section: "edit", shortcut: "Ctrl X", run: () => copyChosen("cut") },
    { id: "duplicate", label: "Duplicate", section: "edit", shortcut: "Ctrl D", run: duplicate },
  ];
}

function groupDeed(label: string): Deed {
  return { id: "group", label, section: "group", icon: "group", shortcut: "Ctrl G", run: groupChosen };
}

function ungroupDeed(): Deed {
  return { id: "ungroup", label: "Ungroup", section: "group", shortcut: "Ctrl Shift G", run: ungroupChosen };
}

function leaveDeed(group: string): Deed {
  const node = canvasNow().nodes.find((one) => one.key === group);
  return {
    id: "leave",
    label: `Take out of ${node ? labelOf(node).slice(0, 32) : "its group"}`,
    section: "group",
    run: leaveGroup,
  };
}

function removeDeed(label: string): Deed {
  return { id: "remove", label, section: "danger", icon: "trash", shortcut: "Del", run: removeChosen };
}
