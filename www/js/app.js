// The page: makes its parts and ties them together.

import { Code } from "./code.js";
import { byId } from "./dom.js";
import { ADVICE } from "./failure.js";
import { Files } from "./files.js";
import { Notice } from "../../elements/base/notice.js";
import { Runner } from "./runner.js";
import { Session } from "./session.js";
import { sessionBar } from "./session-bar.js";
import { Terminal } from "./terminal.js";

const session = new Session();
const code = new Code();
const terminal = new Terminal();
const notices = {
  session: new Notice(byId("session-notice"), ADVICE),
  files: new Notice(byId("files-notice"), ADVICE),
  run: new Notice(byId("run-notice"), ADVICE),
};
new Files({ session, code, notice: notices.files });
const runner = new Runner({ session, terminal, code, notice: notices.run });

session.addEventListener("call", ({ detail }) => (detail.startsWith("const sandbox") ? code.begin(detail) : code.call(detail)));
session.addEventListener("change", () => {
  // A new sandbox makes a fresh start: what was wrong with the one before is over.
  if (session.state === "starting") for (const notice of Object.values(notices)) notice.clear();
});
sessionBar(session, notices.session);

byId("clear").addEventListener("click", () => {
  terminal.clear();
  byId("command").focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !byId("question").open) runner.stop();
});

addEventListener("pagehide", () => session.abandon());
