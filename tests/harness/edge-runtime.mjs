// The end-to-end suite in the edge runtime.

import { readFileSync } from "node:fs";
import { EdgeRuntime } from "edge-runtime";

import { bundle } from "./bundle.mjs";

/** Answers whether all cases passed. */
export async function run(settings) {
  const script = await bundle("in-edge-runtime", { format: "iife" });
  const { failed } = await new Promise((resolve, reject) => {
    const finish = (result, problem) => (problem ? reject(new Error(problem)) : resolve(result));
    const runtime = new EdgeRuntime({ extend: (context) => Object.assign(context, { settings, print: console.log, finish }) });
    runtime.evaluate(readFileSync(script, "utf8"));
  });
  return failed === 0;
}
