// The image under test: the real server with a few commands, as a template of the local sandbox server. And sandboxes of it.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { required } from "../harness/settings.mjs";

const NAME = "in-image-server";
const HOME = "/home/user";

/** The directory that the server's paths are bound to, and that it runs in. */
export const BASE = `${HOME}/base`;

export const TOKEN = "tok-1";

/** What belongs to the server; the rest of the environment are installers. */
const PACKAGES = /^(agent_sandbox|websockets)(\/|$)/;

/** The files of the image: the installed packages, and what stands in `image/`. */
function files() {
  const packages = required("TEST_SERVER_PACKAGES");
  const found = {};
  for (const entry of readdirSync(packages, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const inside = path.slice(packages.length + 1);
    if (entry.isFile() && PACKAGES.test(inside) && !inside.includes("__pycache__")) found[`server/packages/${inside}`] = readFileSync(path);
  }
  const own = (name) => readFileSync(new URL(`image/${name}`, import.meta.url));
  return { ...found, "server/commands.py": own("commands.py"), "bin/codex": { data: own("codex"), mode: 0o755 } };
}

/** The line that starts a server; `env` is what differs. */
export function serverLine(port, env = {}) {
  const all = {
    PYTHONPATH: `${HOME}/server/packages`,
    PATH: `${HOME}/bin:/usr/local/bin:/usr/bin:/bin`,
    ABX_SERVER_BASE_DIR: BASE,
    ABX_AGENTS_PERSIST: "0",
    ABX_AGENTS_RESPONSES_WORKSPACE: BASE,
    ...env,
  };
  const words = Object.entries(all).map(([name, value]) => `${name}='${value}'`);
  return `mkdir -p ${BASE} && cd ${BASE} && exec env ${words.join(" ")} ${required("TEST_SERVER_PYTHON")} -m agent_sandbox.server serve --port ${port} --commands ${HOME}/server/commands.py`;
}

/** Builds the template. */
export async function build({ Template }, connection) {
  const ready = `PYTHONPATH=${HOME}/server/packages ${required("TEST_SERVER_PYTHON")} -m agent_sandbox.server healthcheck --port 9000`;
  const template = Template({ files: files() })
    .fromBaseImage()
    .copy("server", `${HOME}/server`)
    .copy("bin", `${HOME}/bin`)
    .setStartCmd(serverLine(9000, { ABX_SERVER_TOKEN: TOKEN, ABX_SERVER_ENABLED_GROUPS: "dev_tools,browser,agents" }), ready);
  await Template.build(template, NAME, connection);
}

/** Runs `body` with a sandbox of the image, a client of its server, and the context. */
export async function withImage(ctx, body, opts = {}) {
  const sandbox = await ctx.sdk.Sandbox.create(NAME, { ...ctx.connection, ...opts });
  try {
    return await body({ sandbox, client: new ctx.sdk.ServerClient(sandbox, { token: TOKEN }), ...ctx });
  } finally {
    await sandbox.kill();
  }
}

export const TEMPLATE = NAME;

/** Starts another server in the sandbox, and answers a client for it. */
export async function another({ sandbox, sdk }, port, env, opts = {}) {
  await sandbox.commands.run(serverLine(port, env), { background: true });
  const client = new sdk.ServerClient(sandbox, { port, ...opts });
  await client.waitUntilHealthy();
  return client;
}

/** A `fetch` that counts what is sent. */
export function counting() {
  const sent = [];
  return { sent, fetch: (url, init) => (sent.push(`${init.method} ${new URL(url).pathname}`), globalThis.fetch(url, init)) };
}

export async function all(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}
