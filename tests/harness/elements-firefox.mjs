// Drives the elements in headless Firefox from outside, with the cases of tests/elements/firefox.js. `cargo xtask test --only elements
// --runtime firefox` starts it.

import { cases } from "../elements/firefox.js";
import { launch } from "./engines.mjs";
import { describe, runCases } from "./run-cases.js";
import { settings } from "./settings.mjs";

/** Kernels take their time to start on a machine that has other things to do. In ms. */
const LIMIT = 180_000;

const { origin, filter } = settings();
const faults = [];
const browser = await launch("firefox");
process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
let failed;
try {
  const inFreshPage = (one) => async (ctx) => {
    const context = await browser.createBrowserContext();
    try {
      const page = await context.newPage();
      // The case has a limit of its own.
      page.setDefaultTimeout(0);
      page.on("pageerror", (error) => !(one.policyNotices && isPolicyNotice(error)) && faults.push(`page error: ${describe(error)}`));
      await one.run({ ...ctx, page });
    } finally {
      await context.close();
    }
  };
  const wrapped = cases.map((one) => ({ timeoutMs: LIMIT, ...one, run: inFreshPage(one) }));
  ({ failed } = await runCases(wrapped, { origin }, { place: "elements, firefox", filter, print: console.log, faults }));
} finally {
  await browser.close();
}
process.exit(failed === 0 ? 0 : 1);

/** What a policy of the page blocked in markup that is only looked at, other than requests and trusted types: those would be faults. */
function isPolicyNotice({ message }) {
  return /^Content-Security-Policy: .* blocked an (inline style|event handler)/.test(message);
}
