// How to reach the local sandbox server. Only the page's own web server knows: it started both.

import { DemoError } from "./failure.js";

/** Answers `{ apiUrl, apiKey }`. The key is never shown, logged or stored. */
export async function localSettings() {
  let settings;
  try {
    const response = await fetch("/local.json", { cache: "no-store" });
    if (!response.ok) throw new Error(`The web server answered ${response.status}`);
    settings = await response.json();
  } catch (cause) {
    throw new DemoError("demo_server_down", "The web server of this page does not say where the sandbox server is.", { cause });
  }
  const { apiUrl, apiKey } = settings ?? {};
  if (typeof apiUrl !== "string" || typeof apiKey !== "string") {
    throw new DemoError("demo_settings_invalid", "The settings at /local.json lack apiUrl or apiKey.");
  }
  return { apiUrl, apiKey };
}
