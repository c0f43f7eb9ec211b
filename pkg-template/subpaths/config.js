// Configuration: from an environment, `.env` and TOML files to options that every call takes, with the reason for each.
//
// | module | what it is for |
// |---|---|
// | keys.js | every setting and variable that is known |
// | layers.js | environments and files, asked in the same way |
// | env-file.js, toml-file.js | files as layers |
// | resolve.js | looks for one setting in all layers |
// | evaluate.js | what all of them come to, asked of the core |
// | explain.js | the same for people, with what looks like a mistake |
// | nearest.js | which name was meant |
//
// `#package` stands for the entry that fits the host, so that there is one core whatever is imported.

import { evaluate, readOptions } from "./config/evaluate.js";
import { Explanation, masked } from "./config/explain.js";
import { SETTINGS } from "./config/keys.js";
import { layersOf } from "./config/layers.js";
import { Findings, findSettings } from "./config/resolve.js";

export { envFile } from "./config/env-file.js";
export { toml } from "./config/toml-file.js";

export function loadConfig(sources, opts) {
  const { config, findings } = evaluate(sources, opts, "loadConfig");
  for (const { error } of findings.errors) throw error;
  return unprinted(config);
}

export function explainConfig(sources, opts) {
  return new Explanation(evaluate(sources, opts, "explainConfig"));
}

export function loadSettings(sources, opts) {
  const findings = new Findings();
  const found = findSettings(layersOf(sources, "loadSettings"), readOptions(opts, "loadSettings").settings, findings);
  for (const { error } of findings.errors) throw error;
  return Object.fromEntries(SETTINGS.map(({ key, option }) => [option, found.get(key).value]));
}

/** Lets consoles show the options without their secrets. Copies by `{ ...config }` are plain. */
function unprinted(config) {
  const value = () => {
    const { auth, environment, ...rest } = config;
    const shown = Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, name === "E2B_ACCESS_TOKEN" ? masked(text) : text]));
    return { ...rest, ...(rest.apiKey !== undefined && { apiKey: masked(rest.apiKey) }), ...(auth && { auth: "…" }), environment: shown };
  };
  for (const name of ["nodejs.util.inspect.custom", "Deno.customInspect"]) Object.defineProperty(config, Symbol.for(name), { value });
  return config;
}
