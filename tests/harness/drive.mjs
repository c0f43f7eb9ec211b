// Drives pages in headless Chromium from outside. Each case is given a fresh page of its own.

import { launch } from "./engines.mjs";
import { describe, runCases } from "./run-cases.js";
import { settings } from "./settings.mjs";

/** How long looking at a page may take, in ms. */
const LOOK = 5_000;

/** Runs the cases, which are also given `more`, and ends the process with what came of them. */
export async function drive(place, cases, more = {}) {
  const { apiUrl, apiKey, origin, filter } = settings();
  const browser = await launch("chromium");
  // Playwright ends the browser at this signal, but not the process.
  process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  let failed;
  try {
    const faults = [];
    const ctx = { origin, apiUrl, apiKey, browser, ...more };
    const wrapped = cases.map((one) => inFreshPage(one, ctx, faults));
    ({ failed } = await runCases(wrapped, ctx, { place, filter, print: console.log, faults }));
  } finally {
    await browser.close();
  }
  process.exit(failed === 0 ? 0 : 1);
}

/** The case with a page of its own, which is closed at the end whatever came of it. */
function inFreshPage(one, ctx, faults) {
  let context;
  return {
    ...one,
    async run() {
      context = await ctx.browser.newContext(one.context);
      // The case has a limit of its own.
      context.setDefaultTimeout(0);
      const page = await context.newPage();
      page.on("pageerror", (error) => faults.push(`page error: ${describe(error)}`));
      page.on("console", (message) => {
        const isExpected = (one.networkErrors && isNetworkNotice(message)) || (one.policyNotices && isPolicyNotice(message));
        if (message.type() === "error" && !isExpected) faults.push(`console: ${message.text()}`);
      });
      await one.run({ ...ctx, context, page });
    },
    /** What each of its pages shows: where a case stands that waits in vain. */
    async look() {
      const pages = context?.pages() ?? [];
      const shown = pages.map((page) => page.locator("body").ariaSnapshot({ timeout: LOOK }).catch((error) => `cannot be looked at: ${error.message}`));
      return Promise.all(shown);
    },
    close: async () => context?.close().catch((error) => faults.push(`its page could not be closed: ${describe(error)}`)),
  };
}

/**
 * Chromium writes a line for every request that fails, is answered with an error, or whose answer the page may not read,
 * which no program can prevent.
 */
function isNetworkNotice(message) {
  return /^(Failed to load resource:|WebSocket connection to )/.test(message.text()) || message.text().includes("has been blocked by CORS policy");
}

/** What a policy of the page blocked, other than requests and trusted types: those would be faults. */
function isPolicyNotice(message) {
  return /^(Executing inline|Applying inline style|Setting the document's base URI)/.test(message.text());
}
