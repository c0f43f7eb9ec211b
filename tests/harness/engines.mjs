// Starts the browsers of the tests. Playwright drives Chromium, and puppeteer Firefox: Playwright does not speak the
// protocol of a Firefox as distributions install it, and Chromium under puppeteer was seen to hang before its first page.
// Both are loaded when they are needed: who tests in one browser installs nothing for the other.

import { CHROMIUM_ARGUMENTS } from "./arguments.mjs";
import { required } from "./settings.mjs";

export const ENGINES = ["chromium", "firefox"];

/** How long a browser may take to start, in ms: a machine under load is slow. */
const START = 120_000;

/** A headless browser. `close()` ends it. */
export async function launch(engine) {
  if (engine === "firefox") {
    const { launch: start } = await import("puppeteer-core");
    const options = { browser: "firefox", executablePath: required("FIREFOX"), headless: true };
    return start({ ...options, protocolTimeout: 0, timeout: START });
  }
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: required("CHROME"), args: CHROMIUM_ARGUMENTS, timeout: START });
}
