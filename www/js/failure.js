// What can go wrong, and what a visitor of this page can do about it.

import { mayBeGone, saysGone } from "../../elements/base/failure.js";

export { mayBeGone, saysGone };

/** A failure of the page itself, in the manner of the SDK's errors. */
export class DemoError extends Error {
  name = "DemoError";

  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}

const GONE = "Its files and processes are gone with it. Start a new sandbox; the text in the editor is kept.";
const LOST = "What had arrived is shown. The command may still be running in the sandbox.";
const TOO_LONG = "commands.run ends a command after 60 seconds unless timeoutMs says otherwise. Its output so far is shown.";

/** What to do about an error, by its code. */
export const ADVICE = {
  demo_server_down: "Start it again with “cargo xtask demo”, then try again.",
  demo_package_missing: "Start the page again with “cargo xtask demo”, which builds it, then reload it.",
  demo_too_large: "Read it from a program, or look at parts of it in the terminal with head and tail.",
  demo_not_a_file: "Open a file or a directory.",
  connection_failed:
    "Check that the local sandbox server is running (“cargo xtask demo”). If it is, this browser may be unable to reach " +
    "names that end in .localhost: Chrome, Edge and Firefox can.",
  connection_lost: LOST,
  stream_truncated: LOST,
  sandbox_gone: GONE,
  sandbox_not_found: GONE,
  file_not_found: "Check the path. To create the file, type its text and save.",
  unauthenticated: "The server was probably started anew and has another key now. Start a new sandbox; unsaved text in the editor is kept.",
  deadline_exceeded: TOO_LONG,
  command_timeout: TOO_LONG,
  request_timeout: "The server took longer than requestTimeoutMs. Try again.",
  not_enough_space: "Remove something from the sandbox first, or start a new one.",
  service_busy: "Too many sandboxes are running. Try again in a moment.",
  rate_limited: "Wait a moment, then try again.",
  permission_denied: "The user of the sandbox may not do that. Choose a path below /home/user or /tmp.",
  invalid_argument: "Change what the message names, then try again.",
  internal: "That is a bug of the package. Please report it with the details below.",
};

/** Whether another sandbox is the way on: this one is gone, or its server is another one now. */
export const asksForAnother = (error) => saysGone(error) || mayBeGone(error) || error?.code === "unauthenticated";
