// The built package as a file set: what its entries contain, what importing them touches, and how the core is started.
// `cargo xtask test --only package` starts it; it needs the installed package and Chromium, and no server.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { transformSync } from "esbuild";
import { chromium } from "playwright-core";

import { assert, equal, rejects, rejectsWith } from "../e2e/assert.js";
import { runCases } from "./run-cases.js";
import { required } from "./settings.mjs";

const folder = new URL("../../node_modules/agent-sandbox-web/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
const dist = (name) => new URL(`dist/${name}`, folder);
const text = (name) => readFileSync(dist(name), "utf8");
const core = () => readFileSync(dist("core.wasm"));

const ENTRIES = ["index.js", "index.cjs", "cdn.js", "workerd.js", "edge-light.js", "slim.js", "url.js"];

let copies = 0;
/** The entry as if it had never been imported before. */
const fresh = (name) => import(`${dist(name)}?copy=${copies++}`);

/** A call that every entry answers without a network, and that needs the core. */
async function startsWorking(sdk) {
  const error = await rejects((async () => sdk.Sandbox.create("base", { apiKey: 7 }))(), sdk.InvalidArgumentError);
  equal(error.code, "invalid_argument", "code");
}

/** The error of calls that need the core. They must reject: what they throw ends the test. */
async function failsToStart(sdk, type, code) {
  const { Sandbox, getSignature } = sdk;
  const signed = getSignature({ path: "/a", operation: "read", envdAccessToken: "t" });
  const calls = [Sandbox.create("base", { apiKey: "k" }), Sandbox.connect("i1"), Sandbox.kill("i1"), Sandbox.attach({}), Sandbox.getLogs("i1"), signed];
  const errors = await Promise.all(calls.map((call) => rejects(call, type, code)));
  return errors[0];
}

const FORBIDDEN = {
  "a node: specifier": /["']node:/,
  "a call of require": /\brequire\s*\(/,
  eval: /\beval\s*\(/,
  "code made from text": /\bnew\s+Function\b|\bFunction\s*\(\s*["'`]/,
};

/** What the language itself brings. Everything else belongs to the host, and importing must leave it alone. */
const LANGUAGE = new Set(
  "Object Function Array Number Boolean String Symbol BigInt Promise Proxy Reflect Error TypeError RangeError SyntaxError undefined NaN Infinity globalThis Map Set WeakMap WeakSet WeakRef".split(" "),
);

const cases = [
  {
    name: "package: every file that package.json names exists",
    async run() {
      const named = [];
      const collect = (value) => (typeof value === "string" ? named.push(value) : Object.values(value).forEach(collect));
      collect([manifest.exports, manifest.main, manifest.module, manifest.types]);
      for (const path of named) assert(existsSync(new URL(path, folder)), `${path} is missing`);
      equal(manifest.dependencies, undefined, "runtime dependencies");
    },
  },
  {
    name: "package: conditions are in the order that resolvers need",
    async run() {
      equal(Object.keys(manifest.exports["."]), ["workerd", "edge-light", "require", "default"], "conditions");
      const branches = [...Object.values(manifest.exports["."]), manifest.exports["./slim"], manifest.exports["./url"]];
      for (const branch of branches) equal(Object.keys(branch), ["types", "default"], "branch");
    },
  },
  ...[...ENTRIES, ...["edge", "config", "providers", "server", "terminal"].flatMap((name) => [`${name}.js`, `${name}.workerd.js`, `${name}.edge-light.js`])].map((name) => ({
    name: `package: ${name} contains nothing that an edge runtime refuses`,
    async run() {
      const code = text(name);
      for (const [what, pattern] of Object.entries(FORBIDDEN)) {
        const found = pattern.exec(code);
        assert(found === null, `${what}: …${code.slice(found?.index - 40, found?.index + 60)}…`);
      }
      // The CommonJS form has no top-level await, and esbuild refuses to convert a module that uses it.
      transformSync(code, { format: "cjs", logLevel: "silent" });
    },
  })),
  {
    name: "package: importing touches no global of the host",
    async run() {
      const touched = new Set();
      const saved = new Map();
      for (const name of Object.getOwnPropertyNames(globalThis)) {
        const property = Object.getOwnPropertyDescriptor(globalThis, name);
        if (LANGUAGE.has(name) || !property.configurable) continue;
        saved.set(name, property);
        const read = () => property.get?.call(globalThis) ?? property.value;
        Object.defineProperty(globalThis, name, {
          configurable: true,
          get() {
            // Node's own loader uses globals too.
            if (new Error().stack.includes("agent-sandbox-web/dist")) touched.add(name);
            return read();
          },
          set(value) {
            Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
          },
        });
      }
      let sdk;
      try {
        sdk = await fresh("index.js");
      } finally {
        for (const [name, property] of saved) Object.defineProperty(globalThis, name, property);
      }
      equal([...touched], [], "globals touched");
      await startsWorking(sdk);
    },
  },
  {
    name: "package: importing by name works as a module and through require",
    async run() {
      await startsWorking(await import("agent-sandbox-web"));
      await startsWorking(createRequire(import.meta.url)("agent-sandbox-web"));
    },
  },
  {
    name: "package: the entry for code shares the core, and fills in its template alone",
    async run() {
      const [main, code] = [await import("agent-sandbox-web"), await import("agent-sandbox-web/code-interpreter")];
      const required = createRequire(import.meta.url)("agent-sandbox-web/code-interpreter");
      equal(code.SandboxError === main.SandboxError, true, "one core");
      equal(Object.keys(main).filter((name) => !(name in code)), [], "names that are missing");
      equal(code.default === code.Sandbox && typeof required.SandboxError === "function", true, "exports");
      for (const { Sandbox, E2B } of [code, required]) {
        const asked = [];
        const fetchFake = async (_, init) => (asked.push(JSON.parse(new TextDecoder().decode(init.body)).templateID), new Response("{}", { status: 500 }));
        const opts = { apiKey: "k", fetch: fetchFake };
        for (const args of [[opts], ["mine", opts], [{ ...opts, template: "yours" }]]) await Sandbox.create(...args).catch(() => {});
        const client = new E2B(opts);
        for (const args of [[], ["mine"], [{ template: "yours" }]]) await client.Sandbox.create(...args).catch(() => {});
        equal(asked, ["code-interpreter-v1", "mine", "yours", "code-interpreter-v1", "mine", "yours"]);
      }
    },
  },
  {
    name: "package: the entry for configuration shares the core, also through require, and brings the licence of its reader for TOML",
    async run() {
      for (const load of [(name) => import(name), async (name) => createRequire(import.meta.url)(name)]) {
        const [main, config] = [await load("agent-sandbox-web"), await load("agent-sandbox-web/config")];
        equal(Object.keys(config).filter((name) => typeof config[name] === "function").sort(), ["envFile", "explainConfig", "loadConfig", "loadSettings", "toml"]);
        await rejects((async () => config.loadConfig(config.toml("[")))(), main.InvalidArgumentError, "invalid_argument");
        equal(config.loadConfig({ E2B_API_KEY: "k" }).apiKey, "k");
      }
      assert(text("config.js.LEGAL.txt").includes("BSD-3-Clause"), "the licence");
    },
  },
  {
    name: "package: the elements can be imported where there is no DOM, bring no core of their own, and stay small",
    async run() {
      const elements = await import("agent-sandbox-web/elements");
      equal(Object.keys(elements).sort(), ["SandboxCode", "SandboxElement", "SandboxFiles", "SandboxSession", "SandboxTerminal"]);
      const files = readdirSync(dist("")).filter((name) => /^elements.*\.js$/.test(name));
      // With what it imports at once; the rest is loaded when it is needed.
      const atOnce = new Set(["elements.js"]);
      for (const name of atOnce) for (const [, imported] of text(name).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) atOnce.add(imported);
      assert(!atOnce.has("index.js"), "the main entry is imported late");
      const size = [...atOnce].reduce((sum, name) => sum + gzipSync(readFileSync(dist(name)), { level: 9 }).length, 0);
      assert(size <= 40_000, `${size} bytes compressed`);
      for (const name of files) {
        assert(!text(name).includes("WebAssembly"), `${name} has a core`);
        for (const what of ["eval", "code made from text"]) assert(!FORBIDDEN[what].test(text(name)), `${name} has ${what}`);
      }
    },
  },
  {
    name: "package: the minified entry works, and its classes have their names",
    async run() {
      const sdk = await fresh("cdn.js");
      await startsWorking(sdk);
      const classes = Object.entries(sdk).filter(([name, value]) => typeof value === "function" && /^[A-Z]/.test(name));
      for (const [name, value] of classes) equal(value.name, name, "name of a class");
    },
  },
  {
    name: "package: internals are not exported",
    async run() {
      const sdk = await fresh("index.js");
      const internal = Object.keys(sdk).filter((name) => name.startsWith("_"));
      equal(internal, [], "exports that start with an underscore");
      assert(!(Symbol.dispose in sdk.Sandbox.prototype), "Sandbox has Symbol.dispose, which would not kill the sandbox");
    },
  },
  {
    name: "init: is optional, and may be called any number of times",
    async run() {
      const sdk = await fresh("index.js");
      await Promise.all([sdk.init(), sdk.init()]);
      equal(await sdk.init(), undefined, "result");
      await startsWorking(sdk);
      await sdk.init();
    },
  },
  {
    name: "init: takes bytes, a module, a Response, and promises of them",
    async run() {
      const module = await WebAssembly.compile(core());
      const headers = { "content-type": "application/wasm" };
      const sources = [
        core(),
        new Uint8Array(core()).buffer,
        module,
        new Response(core(), { headers }),
        new Response(core()),
        Promise.resolve(module),
      ];
      for (const source of sources) {
        const sdk = await fresh("slim.js");
        await sdk.init(source);
        await startsWorking(sdk);
      }
    },
  },
  {
    name: "init: takes an address, and says so when it leads nowhere",
    async run() {
      const url = `data:application/wasm;base64,${core().toString("base64")}`;
      for (const source of [url, new URL(url)]) {
        const sdk = await fresh("slim.js");
        await sdk.init(source);
        await startsWorking(sdk);
      }
      const sdk = await fresh("slim.js");
      await rejects(sdk.init("http://127.0.0.1:1/core.wasm"), sdk.ConnectionError, "wasm_fetch_failed");
      await rejects(sdk.init(new Response("no", { status: 404 })), sdk.ConnectionError, "wasm_fetch_failed");
    },
  },
  {
    name: "init: a failure is forgotten and the next call tries again",
    async run() {
      const sdk = await fresh("slim.js");
      await rejects(sdk.init(new Uint8Array([1, 2, 3])), sdk.InvalidArgumentError, "wasm_invalid");
      const reason = new RangeError("the caller's own");
      await rejectsWith(sdk.init(Promise.reject(reason)), reason);
      await rejects(sdk.init(new Response("<html>")), sdk.InvalidArgumentError, "wasm_invalid");
      await rejects(sdk.init(42), sdk.InvalidArgumentError);
      await sdk.init(core());
      await startsWorking(sdk);
    },
  },
  {
    name: "init: another program's WebAssembly is refused",
    async run() {
      // The smallest valid module: it lacks every import and export of ours.
      const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
      const sdk = await fresh("slim.js");
      await rejects(sdk.init(empty), sdk.InvalidArgumentError, "wasm_invalid");
      await sdk.init(core());
      await startsWorking(sdk);
    },
  },
  {
    name: "init: a second, different source is a typed error",
    async run() {
      const sdk = await fresh("slim.js");
      const bytes = core();
      const first = sdk.init(bytes);
      await rejects(sdk.init(core()), sdk.InvalidArgumentError, "already_initialized");
      await first;
      await sdk.init(bytes);
      await sdk.init();
      await rejects(sdk.init(new URL("http://127.0.0.1:1/")), sdk.InvalidArgumentError, "already_initialized");

      const used = await fresh("index.js");
      await startsWorking(used);
      await used.init();
      await rejects(used.init(bytes), used.InvalidArgumentError, "already_initialized");
    },
  },
  {
    name: "init: a call during a slow start does not wait for it",
    async run() {
      const sdk = await fresh("index.js");
      let deliver;
      const pending = sdk.init(new Promise((resolve) => (deliver = resolve)));
      await startsWorking(sdk);
      deliver(core());
      await pending;
      await startsWorking(sdk);
    },
  },
  {
    name: "init: an entry without a core says what to do",
    async run() {
      const sdk = await fresh("slim.js");
      await rejects(sdk.init(), sdk.InvalidArgumentError, "not_initialized");
      const error = await failsToStart(sdk, sdk.InvalidArgumentError, "not_initialized");
      assert(error.message.includes("init(source)"), error.message);
    },
  },
  {
    name: "init: a runtime without WebAssembly is a typed error",
    async run() {
      const saved = Object.getOwnPropertyDescriptor(globalThis, "WebAssembly");
      delete globalThis.WebAssembly;
      try {
        const sdk = await fresh("index.js");
        await rejects(sdk.init(), sdk.UnsupportedError, "wasm_missing");
        await failsToStart(sdk, sdk.UnsupportedError, "wasm_missing");
      } finally {
        Object.defineProperty(globalThis, "WebAssembly", saved);
      }
    },
  },
  {
    name: "page: a Content Security Policy without wasm-unsafe-eval is a typed error that names it",
    run: () =>
      inPage("script-src 'self'", async (page) => {
        for (const call of ["create", "init"]) {
          const { name, code, message } = await page.evaluate(async (call) => {
            const sdk = await import("/dist/index.js");
            try {
              await (call === "init" ? sdk.init() : sdk.Sandbox.create("base", { apiKey: "k" }));
            } catch (error) {
              return { name: error.name, code: error.code, message: error.message };
            }
          }, call);
          equal([name, code], ["UnsupportedError", "wasm_blocked"], call);
          assert(message.includes("'wasm-unsafe-eval'"), message);
        }
      }),
  },
  {
    name: "page: a Content Security Policy with wasm-unsafe-eval suffices, for every entry of a page",
    run: () =>
      inPage("script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'", async (page) => {
        for (const entry of ["index.js", "cdn.js", "url.js"]) {
          const code = await page.evaluate(async (entry) => {
            const sdk = await import(`/dist/${entry}`);
            if (entry === "url.js") await sdk.init();
            try {
              await sdk.Sandbox.create("base", { apiKey: 7 });
            } catch (error) {
              return error.code;
            }
          }, entry);
          equal(code, "invalid_argument", entry);
        }
      }),
  },
];

/** Calls `check` with a page that has the policy and whose origin serves the installed package. */
async function inPage(policy, check) {
  const browser = await chromium.launch({ executablePath: required("CHROME"), args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.route("http://package.test/**", (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname === "/") {
        const headers = { "content-security-policy": policy };
        return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>policy</title>", headers });
      }
      return route.fulfill({ path: fileURLToPath(new URL(`.${pathname}`, folder)) });
    });
    await page.goto("http://package.test/");
    await check(page);
  } finally {
    await browser.close();
  }
}

/** How long the import takes in a process of its own: a figure to look at, not a test. */
function importTime() {
  const program = 'const start = performance.now(); await import("agent-sandbox-web"); console.log((performance.now() - start).toFixed(1))';
  return execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }).trim();
}

console.log(`import in a fresh Node process: ${importTime()} ms`);
const faults = [];
process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${reason}`));
const options = { place: "package", filter: process.env.TEST_FILTER, print: console.log, faults };
const { failed } = await runCases(cases, {}, options);
process.exit(failed === 0 ? 0 : 1);
