// The end-to-end suite in a process of its own: Node, Deno or Bun.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("in-process.mjs", import.meta.url));
const program = (name) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

const COMMANDS = {
  node: [process.execPath, script],
  deno: [program("deno"), "run", "--allow-all", "--quiet", script],
  bun: [program("bun"), "run", script],
};

/** Answers whether all cases passed. */
export async function run(settings) {
  const [command, ...words] = COMMANDS[settings.place];
  const child = spawn(command, words, {
    stdio: ["ignore", "inherit", "inherit"],
    // Not as an argument: every user of the machine can list arguments, and the settings hold a key.
    env: { ...process.env, TEST_SETTINGS: JSON.stringify(settings) },
  });
  process.once("SIGTERM", () => child.kill("SIGKILL"));
  const [status] = await once(child, "close");
  return status === 0;
}
