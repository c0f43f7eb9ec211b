// The end-to-end suite in a page, or in a module Web Worker of a page.

import { launch } from "./engines.mjs";
import { describe } from "./run-cases.js";
import { settings as given } from "./settings.mjs";

/** Longer than any case may take, in ms. */
const STALLED = 300_000;

/** Answers whether all cases passed. The place is `<engine>` or `<engine>-worker`. */
export async function run(settings) {
  const [engine, part = "page"] = settings.place.split("-");
  const browser = await launch(engine);
  process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  try {
    const { failed } = await suite(await browser.newPage(), part, settings);
    return failed === 0;
  } finally {
    await browser.close();
  }
}

async function suite(page, part, settings) {
  let finish;
  const finished = new Promise((resolve, reject) => (finish = { resolve, reject }));
  // Every case has a limit of its own; this one is for a browser that stops running cases at all.
  let timer;
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(() => finish.reject(new Error(`No case has ended for ${STALLED} ms`)), STALLED);
  };
  restart();
  await page.exposeFunction("print", (line) => {
    restart();
    console.log(line);
  });
  await page.exposeFunction("finish", (result, problem) => (problem ? finish.reject(new Error(problem)) : finish.resolve(result)));
  for (const event of ["crash", "error"]) page.on(event, (error) => finish.reject(new Error("The page crashed", { cause: error })));
  // The suite sees console errors itself, in the case that caused them; what comes before it starts is seen here.
  page.on("pageerror", (error) => console.log(`page error: ${describe(error)}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !isNetworkNotice(message)) console.log(`console: ${message.text()}`);
  });
  const prepare = (value) => void (globalThis.settings = value);
  await (page.addInitScript?.(prepare, settings) ?? page.evaluateOnNewDocument(prepare, settings));
  // A machine under load may take long; what hangs is found by the limit of each case.
  await page.goto(`${given().origin}/tests/harness/${part}.html`, { waitUntil: "domcontentloaded", timeout: 120_000 });
  return finished.finally(() => clearTimeout(timer));
}

/**
 * Chromium writes a line for every request that fails, is answered with an error, or whose answer the page may not read,
 * which no program can prevent.
 */
function isNetworkNotice(message) {
  return message.text().startsWith("Failed to load resource:") || message.text().includes("has been blocked by CORS policy");
}
