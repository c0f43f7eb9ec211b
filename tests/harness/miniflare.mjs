// A Worker in workerd, without `nodejs_compat`.

import { Miniflare } from "miniflare";

/** Starts the module at `script`, whose imports lie beside it. `dispose()` of what is answered ends it. */
export function startWorker(script, bindings) {
  return new Miniflare({
    modules: true,
    scriptPath: script,
    modulesRules: [
      { type: "ESModule", include: ["**/*.js"] },
      { type: "CompiledWasm", include: ["**/*.wasm"] },
    ],
    compatibilityDate: "2026-04-01",
    bindings,
  });
}
