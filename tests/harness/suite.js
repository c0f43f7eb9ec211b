// The end-to-end suite inside of a runtime: whatever its host, it is given the package and where to print.

import { cases } from "../e2e/index.js";
import { describe, runCases } from "./run-cases.js";

/**
 * @param {object} sdk The imported package.
 * @param {{ place: string, apiUrl: string, apiKey: string, faultsUrl: string, filter?: string, differences: object[] }} settings
 * @param {(line: string) => void} print
 * @param {(() => Promise<object>) | undefined} fresh Imports the package once more, as a reload does; a bundle has but one.
 * @param {{ config: object }} entries Further entries of the package.
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export function runSuite(sdk, { place, apiUrl, apiKey, faultsUrl, filter, differences }, print, fresh, entries = {}) {
  const faults = [];
  listen(faults);
  const consoleError = console.error;
  console.error = (...words) => {
    faults.push(`console.error: ${words.join(" ")}`);
    consoleError(...words);
  };
  return runCases(cases, { sdk, ...entries, fresh, apiUrl, apiKey, faultsUrl }, { place, filter, print, faults, differences });
}

/** Collects what went wrong outside of any promise that somebody waits for. */
function listen(faults) {
  const { process } = globalThis;
  if (typeof process?.on === "function") {
    process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${describe(reason)}`));
    process.on("uncaughtException", (error) => faults.push(`uncaught exception: ${describe(error)}`));
    process.on("warning", (warning) => faults.push(`warning: ${describe(warning)}`));
    return;
  }
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    faults.push(`unhandled rejection: ${describe(event.reason)}`);
  });
  globalThis.addEventListener("error", (event) => faults.push(`uncaught exception: ${event.message}`));
}
