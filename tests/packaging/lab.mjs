// A place where one host is tried: a copy of its folder outside of the sources, with what its lock file names and the packed
// package installed, and everything that was started there, which ends with it.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, delimiter, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { ENGINES, launch } from "../harness/engines.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const RUNTIMES = join(here, "../harness/node_modules/.bin");
const TOOLS = join(root, "node_modules/.bin");

/** How long a command, the start of a server and a page may take, in ms. A machine under load is slow. */
const COMMAND = 480_000;
const PAGE = 120_000;

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".wasm": "application/wasm" };

export class Lab {
  /** What was started, as functions that end it. */
  #running = [];
  #browsers = new Map();

  constructor(name, { apiUrl, apiKey, tarball }) {
    this.name = name;
    this.folder = join(root, "build/packaging", name);
    this.settings = { apiUrl, apiKey };
    this.tarball = tarball;
  }

  /** Makes the folder: the host's own files, the shared ones, and `node_modules`. */
  async prepare() {
    const lock = join(here, this.name, "package-lock.json");
    const stamp = join(this.folder, "node_modules/.lab-lock.json");
    const wanted = existsSync(lock) ? readFileSync(lock, "utf8") : "";
    const isInstalled = existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
    if (!isInstalled) rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
    const notInstalled = (path) => !path.includes("node_modules");
    cpSync(join(here, this.name), this.folder, { recursive: true, filter: notInstalled });
    cpSync(join(here, "shared"), join(this.folder, "shared"), { recursive: true });
    cpSync(join(root, ".npmrc"), join(this.folder, ".npmrc"));
    if (!isInstalled && wanted !== "") await this.sh("npm ci --ignore-scripts --loglevel=error");
    // As a user would, but without asking the registry about what is installed already.
    rmSync(join(this.folder, "node_modules/agent-sandbox-web"), { recursive: true, force: true });
    await this.sh(`npm install --ignore-scripts --prefer-offline --loglevel=error "${this.tarball}"`);
    writeFileSync(stamp, wanted);
    mkdirSync(join(this.folder, "public"), { recursive: true });
    writeFileSync(join(this.folder, "public/settings.json"), JSON.stringify(this.settings));
  }

  /** Copies files, whose paths start at `tests/packaging`, into the folder. */
  take(...paths) {
    for (const path of paths) cpSync(join(here, path), join(this.folder, basename(path)));
  }

  /** Runs a command line in the folder and answers what it prints. Its failure is an error with all that it wrote. */
  async sh(line) {
    const { child, output } = this.#spawn(line);
    const status = await withPatience(line, output, COMMAND, new Promise((resolve) => child.once("close", resolve)));
    if (status !== 0) throw new Error(`${line} ended with ${status}\n${output.all}`);
    return output.stdout.trim();
  }

  /** Starts a server by a command line and answers the address it prints. */
  async service(line) {
    const { child, output } = this.#spawn(line);
    const address = new Promise((resolve, reject) => {
      child.once("close", (status) => reject(new Error(`${line} ended with ${status}\n${output.all}`)));
      const look = () => {
        const found = /http:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d+)/.exec(output.all.replace(/\x1b\[[\d;]*m/g, ""));
        if (found) resolve(`http://localhost:${found[1]}`);
      };
      child.stdout.on("data", look);
      child.stderr.on("data", look);
    });
    return withPatience(line, output, COMMAND, address);
  }

  /** Serves a folder of the lab, the shared pages and the settings, with these headers. Answers the address. */
  async serve(folder, headers = {}) {
    const server = createServer((request, response) => {
      const path = request.url === "/" ? "/index.html" : request.url.split("?")[0];
      const file = [folder, "shared", "public"].map((name) => join(this.folder, name, path)).find((name) => existsSync(name));
      if (file === undefined) return response.writeHead(404).end();
      response.writeHead(200, { ...headers, "content-type": TYPES[extname(file)] ?? "text/plain" });
      response.end(readFileSync(file));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#running.push(() => server.close(() => {}) && server.closeAllConnections());
    return `http://127.0.0.1:${server.address().port}`;
  }

  /** Opens a page and answers the title that its program gives it. */
  async title(url, engine) {
    let browser = this.#browsers.get(engine);
    if (browser === undefined) {
      browser = await launch(engine);
      this.#browsers.set(engine, browser);
      this.#running.push(() => browser.close());
    }
    const page = await browser.newPage();
    const notices = { all: "" };
    page.on("console", (message) => (notices.all += `${message.type()}: ${message.text()}\n`));
    page.on("pageerror", (error) => (notices.all += `${error}\n`));
    try {
      const shown = (async () => {
        const answer = await page.goto(url, { waitUntil: "domcontentloaded", timeout: PAGE });
        if (!answer.ok()) throw new Error(`${url} answered ${answer.status()}`);
        for (;;) {
          const title = await page.title();
          if (title !== "") return title;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })();
      return await withPatience(`${engine} ${url}`, notices, PAGE, shown);
    } finally {
      await page.close();
    }
  }

  /** Ends everything that was started. */
  async end() {
    for (const stop of this.#running.splice(0).reverse()) await stop();
    this.#browsers.clear();
  }

  #spawn(line) {
    // Nothing of this process's environment but what programs need to run at all.
    const { HOME, PATH } = process.env;
    const child = spawn("sh", ["-c", line], {
      cwd: this.folder,
      // A group of its own, so that what the command starts ends with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        HOME,
        PATH: [join(this.folder, "node_modules/.bin"), RUNTIMES, TOOLS, PATH].join(delimiter),
        E2B_API_URL: this.settings.apiUrl,
        E2B_API_KEY: this.settings.apiKey,
        CI: "1",
        NO_COLOR: "1",
        NEXT_TELEMETRY_DISABLED: "1",
        WRANGLER_SEND_METRICS: "false",
        DENO_NO_UPDATE_CHECK: "1",
      },
    });
    const output = { stdout: "", all: "" };
    child.stdout.on("data", (bytes) => {
      output.stdout += bytes;
      output.all += bytes;
    });
    child.stderr.on("data", (bytes) => (output.all += bytes));
    this.#running.push(
      () =>
        new Promise((resolve) => {
          if (child.exitCode !== null || child.signalCode !== null) return resolve();
          child.once("close", resolve);
          process.kill(-child.pid, "SIGKILL");
        }),
    );
    return { child, output };
  }
}

/** The same page in every browser, as cases. `open` answers its address. */
export const inBrowsers = (name, open, engines = ENGINES) =>
  engines.map((engine) => ({ name: `${name}, ${engine}`, run: async (lab) => lab.title(await open(lab), engine) }));

/** Does something once per lab, when it is first needed. */
export function once(work) {
  let done;
  return (lab) => (done ??= work(lab));
}

/** Fails with what was written so far when a promise takes too long. */
function withPatience(what, output, limit, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${limit} ms\n${output.all}`)), limit);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
