// Requests made by a script of a page of another origin: what the browser lets it send and read is part of the answer.

import { createServer } from "node:http";
import { chromium } from "playwright-core";

/** Milliseconds after which a request of the page has failed. */
const PATIENCE = 30_000;

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];

/** The page, opened with its browser when it is asked for first. */
export class Page {
  #program;
  #opened;

  /** `program` is the path of Chromium. */
  constructor(program) {
    this.#program = program;
  }

  get missing() {
    return this.#program ? undefined : "Chromium is missing";
  }

  async #open() {
    // The port alone makes it another origin than any server's.
    const site = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end("<!doctype html><title>another origin</title>");
    });
    await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
    const browser = await chromium.launch({ executablePath: this.#program, args: FLAGS });
    // Playwright ends the browser at this signal, but not the process.
    process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    return { site, browser, page };
  }

  /** Makes a request like an exchange, whose headers are those that the script may read. */
  async exchange(url, { method, headers, body }) {
    const { page } = await (this.#opened ??= this.#open());
    const started = performance.now();
    const request = { method, headers, body: body?.toString("base64") };
    const { failed, ...answer } = await page.evaluate(inPage, [String(url), request, PATIENCE]);
    return {
      sent: "",
      status: answer.status,
      headers: answer.headers ?? {},
      body: Buffer.from(answer.body ?? "", "base64"),
      failed: failed && new Error(failed),
      done: true,
      took: performance.now() - started,
      until: async () => undefined,
      close: () => undefined,
    };
  }

  async close() {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.browser.close();
    opened?.site.close();
  }
}

/** Runs in the page: it has nothing but its arguments. */
async function inPage([url, { method, headers, body }, patience]) {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  try {
    const response = await fetch(url, { method, headers, body: body && bytes(body), signal: AbortSignal.timeout(patience) });
    const content = new Uint8Array(await response.arrayBuffer());
    let text = "";
    for (const byte of content) text += String.fromCharCode(byte);
    return { status: response.status, headers: Object.fromEntries(response.headers), body: btoa(text) };
  } catch (error) {
    return { failed: String(error) };
  }
}
