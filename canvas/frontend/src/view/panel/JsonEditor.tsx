// The editor of JSON text, CodeMirror in a shadow tree: only there are its styles adopted as the page's rules ask.
// Loaded when a field first needs it. Owns the text while it is being typed; what it means is its field's business.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  ensureSyntaxTree,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { Annotation, Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactElement, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import type { Fault } from "../../model/jsonText";

export interface JsonEditorProps {
  id: string;
  label: string;
  about: string;
  text: string;
  hint: string; // stands where nothing is written
  isTall: boolean;
  disabled: boolean;
  fault: Fault | null;
  takesFocus: RefObject<boolean>; // from the plain field that it replaces, so that no key goes elsewhere
  onText: (text: string) => void;
  onPlace: (at: number) => void; // where the fault is, when only the editor can tell
}

const LONGEST_NUMBERED = 4; // lines; a shorter text needs no numbers
const PARSING = 100; // ms that finding a fault may take
const fromOutside = Annotation.define<boolean>();

const look = EditorView.theme({
  "&": {
    background: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    fontSize: "var(--small)",
    minHeight: "60px",
    maxHeight: "340px",
  },
  "&.tall": { minHeight: "300px", maxHeight: "calc(100vh - 320px)" },
  "&.reference": { background: "var(--accent-soft)" },
  "&.wrong": { borderColor: "var(--bad-fill)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { padding: "6px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-gutters": {
    background: "var(--sunken)",
    color: "var(--quiet)",
    border: "0",
    borderRight: "1px solid var(--line)",
  },
  ".cm-placeholder": { color: "var(--quiet)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { background: "var(--bad-soft)", outline: "1px solid var(--bad-fill)" },
  ".fault": { background: "var(--bad-soft)", textDecoration: "underline wavy var(--bad-fill)" },
  ".fault-line": { background: "var(--bad-soft)" },
});
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--link)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--busy)" },
  { tag: [tags.bool, tags.null], color: "var(--wait)", fontWeight: "600" },
  { tag: [tags.separator, tags.brace, tags.squareBracket], color: "var(--quiet)" },
]);

const setFault = StateEffect.define<number | null>();
const faultField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    let shown = marks.map(change.changes);
    for (const effect of change.effects) if (effect.is(setFault)) shown = markAt(change.state, effect.value);
    return shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function markAt(state: EditorState, at: number | null): DecorationSet {
  if (at === null) return Decoration.none;
  const place = Math.min(at, state.doc.length);
  const line = state.doc.lineAt(place);
  const marks = [Decoration.line({ class: "fault-line" }).range(line.from)];
  // At the end of a line there is no letter to underline: the last one stands for it.
  const from = place < line.to ? place : Math.max(line.from, line.to - 1);
  if (from < line.to) marks.push(Decoration.mark({ class: "fault" }).range(from, Math.min(from + 1, line.to)));
  return Decoration.set(marks);
}

// The first place that is no JSON, from the syntax tree; null where that is too far to look.
function firstError(state: EditorState): number | null {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSING);
  let found: number | null = null;
  tree?.iterate({
    enter(node) {
      if (found !== null) return false;
      if (node.type.isError) found = node.from;
      return undefined;
    },
  });
  return found;
}

// As the browser sees it: of a selection that was made a moment ago the editor may not know yet.
function selected(view: EditorView): { from: number; to: number } {
  const root = "getSelection" in view.root ? (view.root as Document) : document; // Chromium asks the shadow tree
  const seen = root.getSelection();
  if (!seen?.anchorNode || !seen.focusNode || !view.contentDOM.contains(seen.anchorNode))
    return view.state.selection.main;
  const ends = [view.posAtDOM(seen.anchorNode, seen.anchorOffset), view.posAtDOM(seen.focusNode, seen.focusOffset)];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}

// What is typed over a selection: left to the browser, it writes styles into the text, which the page's rules forbid.
function replace(event: InputEvent, view: EditorView): boolean {
  const { data, inputType, isComposing } = event;
  const isTyped = (inputType === "insertText" || inputType === "insertReplacementText") && !isComposing;
  const { from, to } = selected(view);
  if (!isTyped || !data || from === to || view.state.readOnly) return false;
  view.dispatch({
    changes: { from, to, insert: data },
    selection: { anchor: from + data.length },
    userEvent: "input.type",
    scrollIntoView: true,
  });
  return true;
}

export default function JsonEditor(props: JsonEditorProps): ReactElement {
  const { id, label, about, text, isTall, disabled, fault } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const parts = useRef({ attributes: new Compartment(), numbers: new Compartment(), editable: new Compartment() });
  const now = useRef(props);
  useEffect(() => {
    now.current = props;
  });
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open", delegatesFocus: true });
    const { attributes, numbers, editable } = parts.current;
    const first = now.current;
    const made = new EditorView({
      parent: root,
      state: EditorState.create({
        doc: first.text,
        extensions: [
          history(),
          json(),
          indentUnit.of("  "),
          indentOnInput(),
          bracketMatching(),
          syntaxHighlighting(colours),
          faultField,
          look,
          placeholder(first.hint),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          // A very long line that is wrapped is laid out as a whole, which takes minutes.
          ...(first.text.length > 100_000 ? [] : [EditorView.lineWrapping]),
          attributes.of(EditorView.contentAttributes.of({})),
          numbers.of([]),
          editable.of([]),
          EditorView.domEventHandlers({ beforeinput: replace }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside)))
              now.current.onText(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    if (first.takesFocus.current) {
      made.dispatch({ selection: { anchor: made.state.doc.length } });
      made.focus();
    }
    return () => made.destroy();
  }, []);
  // In the same breath as the rendering: a moment later the next key may have been typed, and would be taken back.
  useLayoutEffect(() => {
    const made = view.current;
    if (!made || made.state.doc.toString() === text) return;
    const changes = { from: 0, to: made.state.doc.length, insert: text };
    made.dispatch({ changes, annotations: fromOutside.of(true) });
  }, [text]);
  const isWrong = fault !== null;
  const isTold = /^\s*(\$\{|\{%)/.test(text);
  useEffect(() => {
    const { attributes, editable } = parts.current;
    const said: Record<string, string> = { "aria-label": label, "aria-description": about, "aria-multiline": "true" };
    if (isWrong) said["aria-invalid"] = "true";
    if (disabled) said["aria-readonly"] = "true";
    view.current?.dispatch({
      effects: [
        attributes.reconfigure([
          EditorView.contentAttributes.of(said),
          EditorView.editorAttributes.of({
            class: `${isTall ? "tall" : ""}${isWrong ? " wrong" : ""}${isTold ? " reference" : ""}`,
          }),
        ]),
        // Read, selected and copied it can be in any case.
        editable.reconfigure(EditorState.readOnly.of(disabled)),
      ],
    });
  }, [label, about, isWrong, isTold, disabled, isTall]);
  const hasNumbers = isTall || text.split("\n", LONGEST_NUMBERED + 1).length > LONGEST_NUMBERED;
  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.numbers.reconfigure(hasNumbers ? lineNumbers() : []) });
  }, [hasNumbers]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const at = fault === null ? null : (fault.at ?? firstError(made.state));
    made.dispatch({ effects: setFault.of(at) });
    if (fault && fault.at === null && at !== null) now.current.onPlace(at);
  }, [fault]);
  return <div id={id} ref={host} className="json-editor" data-typing />;
}
