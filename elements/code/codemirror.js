// The editor: CodeMirror with the languages of the code interpreter. Loaded when a cell is first seen.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { java } from "@codemirror/legacy-modes/mode/clike";
import { r } from "@codemirror/legacy-modes/mode/r";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, keymap, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const LANGUAGES = {
  python: () => [python(), indentUnit.of("    ")],
  javascript: () => javascript({ jsx: true }),
  typescript: () => javascript({ typescript: true }),
  bash: () => StreamLanguage.define(shell),
  r: () => StreamLanguage.define(r),
  java: () => StreamLanguage.define(java),
};
const ALIASES = { py: "python", js: "javascript", ts: "typescript", sh: "bash", shell: "bash", mjs: "javascript", json: "javascript" };

/**
 * @param {object} options
 * @param {HTMLElement} options.parent
 * @param {ShadowRoot | Document} options.root Where the editor's style sheet goes.
 * @param {(text: string) => void} options.onChange
 * @param {() => void} [options.onRun] For Ctrl, Cmd or Shift with Enter.
 */
export function codeEditor({ parent, root, text, onChange, onRun, ...options }) {
  const setup = new Compartment();
  const run = () => (onRun?.(), true);
  /** Set while the text is changed from outside, which is no change of the reader. */
  let isQuiet = false;
  const view = new EditorView({
    parent,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        placeholder("Type code here"),
        syntaxHighlighting(classHighlighter),
        onRun ? Prec.highest(keymap.of(["Mod-Enter", "Ctrl-Enter", "Shift-Enter"].map((key) => ({ key, run })))) : [],
        // Escape, then Tab leaves the editor.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => update.docChanged && !isQuiet && onChange(view.state.doc.toString())),
        setup.of(settings(options)),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    configure: (options) => view.dispatch({ effects: setup.reconfigure(settings(options)) }),
    destroy: () => view.destroy(),
    get value() {
      return view.state.doc.toString();
    },
    set value(text) {
      if (text === view.state.doc.toString()) return;
      isQuiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isQuiet = false;
    },
  };
}

function settings({ language, isReadOnly, label }) {
  const name = ALIASES[language] ?? language;
  const leave = isReadOnly ? "" : "Press Escape, then Tab to leave the editor.";
  return [
    Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name]() : [],
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-description": leave, spellcheck: "false", autocapitalize: "off" }),
  ];
}
