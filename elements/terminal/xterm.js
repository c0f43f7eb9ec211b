// The terminal on the page: xterm.js, made to fit its place. Loaded when a terminal is opened.

import { FitAddon } from "@xterm/addon-fit";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import xtermStyles from "@xterm/xterm/css/xterm.css";

import { sheets } from "../base/sheets.js";
import { Flow } from "./flow.js";
import { openStrictly } from "./strict-styles.js";

const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** What Ctrl-C types. */
const INTERRUPT = "\x03";

const THEME = {
  background: "#191c1b",
  foreground: "#e6ebe7",
  cursor: "#6fd8c6",
  cursorAccent: "#191c1b",
  selectionBackground: "#3d6a61",
  black: "#3a413e",
  red: "#ff8f80",
  green: "#7fcf87",
  yellow: "#e2b65a",
  blue: "#86b0f5",
  magenta: "#d79be8",
  cyan: "#5cc5c9",
  white: "#d5dbd7",
  brightBlack: "#9ba6a1",
  brightRed: "#ffb1a5",
  brightGreen: "#a5e6a5",
  brightYellow: "#ffd98a",
  brightBlue: "#9cc2ff",
  brightMagenta: "#e3b3f2",
  brightCyan: "#9be8ea",
  brightWhite: "#ffffff",
};

/**
 * @param {HTMLElement} place
 * @param {ShadowRoot} root
 * @param {{ onInput(data: string): void, onResize(size: { cols: number, rows: number }): void, label: string }} options
 */
export function terminalView(place, root, { onInput, onResize, label }) {
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...sheets(xtermStyles)];
  const terminal = new Terminal({
    fontFamily: FONT,
    fontSize: 13,
    lineHeight: 1.2,
    theme: THEME,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    scrollback: 5_000,
    // Whoever uses a screen reader gets the lines as text.
    screenReaderMode: true,
    // Colours that cannot be read are changed.
    minimumContrastRatio: 4.5,
    linkHandler: { activate: (event, url) => openLink(url) },
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  terminal.loadAddon(new WebLinksAddon((event, url) => openLink(url)));
  openStrictly(terminal, place, root);
  terminal.textarea?.setAttribute("aria-label", label);
  const flow = new Flow((bytes) => new Promise((resolve) => terminal.write(bytes, resolve)));
  terminal.onData((data) => {
    if (data === INTERRUPT) flow.interrupt();
    onInput(data);
  });
  terminal.onResize(({ cols, rows }) => onResize({ cols, rows }));
  // Tab belongs to the shell; Shift and Escape, pressed before it, leave the terminal.
  let mayLeave = false;
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== "keydown") return true;
    if (event.key === "Escape" && event.shiftKey) return (mayLeave = true), false;
    const leaves = event.key === "Tab" && mayLeave;
    if (event.key !== "Shift") mayLeave = false;
    return !leaves;
  });
  const fit = () => place.clientWidth > 0 && fitting.fit();
  new ResizeObserver(fit).observe(place);
  return {
    fit,
    focus: () => terminal.focus(),
    reset: () => terminal.reset(),
    /** Resolves when there is room for more. */
    write: (bytes) => flow.take(bytes),
    get size() {
      return { cols: terminal.cols, rows: terminal.rows };
    },
  };
}

/** Opens an address that a program has printed, in a tab that learns nothing of this one. */
function openLink(url) {
  if (/^https?:/i.test(url)) window.open(url, "_blank", "noopener,noreferrer");
}
