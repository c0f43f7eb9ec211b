import { inBrowsers, once } from "../lab.mjs";

const origin = once((lab) => lab.serve("."));
const page = (name) => async (lab) => `${await origin(lab)}/${name}.html`;

/** A page that may do no more than it needs: `script` is what its policy says on scripts. */
const strict = (script) =>
  once(async (lab) => {
    const { port } = new URL(lab.settings.apiUrl);
    const servers = `http://localhost:${port} http://127.0.0.1:${port} http://*.localhost:${port}`;
    const policy = `default-src 'none'; script-src ${script}; connect-src 'self' ${servers}`;
    return `${await lab.serve(".", { "content-security-policy": policy })}/policy.html`;
  });

const BLOCKED =
  "UnsupportedError wasm_blocked: The Content Security Policy of this page blocks WebAssembly. Add 'wasm-unsafe-eval' to its script-src directive";

export const cases = [
  ...inBrowsers("a script from one file", page("script")),
  ...inBrowsers("a module Web Worker", page("shared/worker")),
  ...inBrowsers("a module Service Worker", page("service-worker")),
  ...inBrowsers("a strict policy with wasm-unsafe-eval", strict("'self' 'wasm-unsafe-eval'")),
  ...inBrowsers("a strict policy without it", strict("'self'")).map((one) => ({ ...one, expected: BLOCKED })),
];
