// The group of the browser, which the server's policy must enable: one page that all callers share.

import { fromBase64 } from "./base64.js";
import { defined, queryOf } from "./calls.js";
import { flag, milliseconds, oneOf, optional, options, text } from "./check.js";
import { camelKeys, time } from "./json.js";
import { withReserve } from "./times.js";

/** The server's own limits for one call, in ms. */
const NAVIGATE_MS = 30_000;
const CLICK_MS = 5_000;
const SCRIPT_MS = 10_000;

export class ServerBrowser {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  async navigate(url, given) {
    const owner = "browser.navigate";
    const opts = options(given, owner);
    const wait_until = optional(oneOf, opts.waitUntil, `Option waitUntil of ${owner}`, ["load", "domcontentloaded", "networkidle", "commit"]) ?? "networkidle";
    return camelKeys(await this.#post("navigate", owner, opts, { url: text(url, `url of ${owner}`), wait_until }, NAVIGATE_MS));
  }

  async screenshot(given) {
    const owner = "browser.screenshot";
    const opts = options(given, owner);
    const json = {
      full_page: flag(opts.fullPage, `Option fullPage of ${owner}`) ?? true,
      format: optional(oneOf, opts.format, `Option format of ${owner}`, ["png", "jpeg"]) ?? "png",
      ...defined({ selector: optional(text, opts.selector, `Option selector of ${owner}`) }),
    };
    const { image_base64 } = await this.#post("screenshot", owner, opts, json);
    return fromBase64(String(image_base64 ?? ""));
  }

  async content(type = "html", opts = undefined) {
    const owner = "browser.content";
    const query = queryOf({ type: oneOf(type, `type of ${owner}`, ["html", "text"]) });
    return camelKeys(await this.#calls.ask("browser_content", "GET", "/browser/content", { owner, opts, query }));
  }

  async click(selector, given) {
    const owner = "browser.click";
    return camelKeys(await this.#post("click", owner, options(given, owner), { selector: text(selector, `selector of ${owner}`) }, CLICK_MS));
  }

  async type(selector, content, given) {
    const owner = "browser.type";
    const opts = options(given, owner);
    const json = {
      selector: text(selector, `selector of ${owner}`),
      text: text(content, `text of ${owner}`),
      clear: flag(opts.clear, `Option clear of ${owner}`) ?? false,
      ...defined({ delay: optional(milliseconds, opts.delayMs, `Option delayMs of ${owner}`) }),
    };
    return camelKeys(await this.#post("type", owner, opts, json));
  }

  async evaluate(script, given) {
    const owner = "browser.evaluate";
    const { result } = await this.#post("evaluate", owner, options(given, owner), { script: text(script, `script of ${owner}`) }, SCRIPT_MS);
    return result;
  }

  async pdf(given) {
    const owner = "browser.pdf";
    const opts = options(given, owner);
    const json = { format: optional(text, opts.format, `Option format of ${owner}`) ?? "A4", landscape: flag(opts.landscape, `Option landscape of ${owner}`) ?? false };
    const { pdf_base64 } = await this.#post("pdf", owner, opts, json);
    return fromBase64(String(pdf_base64 ?? ""));
  }

  /** What pages have logged since this was asked last. */
  async console(opts) {
    const { logs } = await this.#calls.ask("browser_console", "GET", "/browser/console", { owner: "browser.console", opts });
    return (logs ?? []).map(({ timestamp, ...rest }) => ({ ...camelKeys(rest), timestamp: time(timestamp) }));
  }

  /** The server counts these times in milliseconds. `usualMs` marks the calls that have one. */
  #post(name, owner, opts, json, usualMs = undefined) {
    const timeoutMs = usualMs && optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
    const body = timeoutMs === undefined ? json : { ...json, timeout: timeoutMs };
    return this.#calls.ask(`browser_${name}`, "POST", `/browser/${name}`, { owner, opts, json: body, timeoutMs: withReserve(timeoutMs ?? usualMs ?? NAVIGATE_MS) });
  }
}
