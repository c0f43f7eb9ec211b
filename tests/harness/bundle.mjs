// The suite as one file, for runtimes without modules of their own.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles a script of this folder into `build/harness` and answers the path of the file. */
export async function bundle(name, options) {
  const outdir = fileURLToPath(new URL(`../../build/harness/${name}`, import.meta.url));
  const entry = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  await build({ entryPoints: [entry], outdir, bundle: true, logLevel: "warning", ...options });
  return `${outdir}/${name}.js`;
}
