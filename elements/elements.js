// The elements of the in-page code runner. Importing the module defines them; where there is no DOM it does nothing.

import { SandboxElement } from "./base/element.js";
import { SandboxCode } from "./code/code-element.js";
import { SandboxFiles } from "./files/files-element.js";
import { SandboxSession } from "./session/session-element.js";
import { SandboxTerminal } from "./terminal/terminal-element.js";

/** The session first: the others look for it when they are made. */
const ELEMENTS = {
  "sandbox-session": SandboxSession,
  "sandbox-code": SandboxCode,
  "sandbox-terminal": SandboxTerminal,
  "sandbox-files": SandboxFiles,
};

if (globalThis.customElements) {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    // The module may be on a page twice, from two bundles: the first one serves both.
    if (!customElements.get(name)) customElements.define(name, element);
  }
}

export { SandboxCode, SandboxElement, SandboxFiles, SandboxSession, SandboxTerminal };
