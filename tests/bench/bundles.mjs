// Contestants as files of their own, for hosts that have no modules from npm.

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * The standard client imports modules of Node that it only needs for templates, and does not load without them. These stand
 * in: any name that is asked for exists, and whatever is done with it does nothing.
 */
const withoutNode = {
  name: "without-node",
  setup(build) {
    build.onResolve({ filter: /^(node:.*|fs|fs\/promises|path|url|os|crypto|stream|util|events|assert|zlib|tty|process|string_decoder)$/ }, ({ path }) => ({ path, namespace: "stand-in" }));
    build.onLoad({ filter: /.*/, namespace: "stand-in" }, () => ({ contents: STAND_IN, loader: "js" }));
  },
};

/** In Node a program gets the client's CommonJS form; bundlers take the other. */
const asBundlersResolve = {
  name: "as-bundlers-resolve",
  setup(build) {
    build.onResolve({ filter: /clients\/node\/node_modules\/.*\/index\.js$/ }, ({ path, resolveDir }) => ({ path: resolve(resolveDir, path.replace(/\.js$/, ".mjs")) }));
  },
};

const STAND_IN = `
const anything = new Proxy(function () {}, {
  get: (target, name) => (name === "__esModule" ? false : typeof name === "symbol" ? undefined : name === "prototype" ? target.prototype : anything),
  apply: () => anything,
  construct: () => ({}),
});
module.exports = anything;
`;

/** Bundles `source`, which may import from this folder, and returns the path of the file. */
export async function bundle(name, source, { outdir, conditions, loader }) {
  const outfile = `${outdir}/${name}.js`;
  await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL(".", import.meta.url)), sourcefile: `${name}.js` },
    outfile,
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions,
    loader,
    assetNames: "[name]",
    // Of what is never called; workerd wants to know all modules beforehand.
    supported: { "dynamic-import": false },
    logLevel: "error",
    plugins: [asBundlersResolve, withoutNode],
  });
  return outfile;
}
