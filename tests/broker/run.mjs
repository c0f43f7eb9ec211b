// Tests the broker in the hosts that TEST_PLACES names, and from a page when "page" is among them. `cargo xtask test --only broker`
// starts it.

import * as sdk from "agent-sandbox-web";
import * as terminals from "agent-sandbox-web/terminal";
import { describe, runCases } from "../harness/run-cases.js";
import { required, settings as given } from "../harness/settings.mjs";
import { cases } from "./cases.mjs";
import { cases as demoCases } from "./demo.mjs";
import { start } from "./hosts.mjs";
import { openPages, pageCases } from "./page.mjs";
import { casesOf } from "./terminal.mjs";

const { apiUrl, apiKey, origin, filter } = given();
const faults = [];
process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${describe(reason)}`));

let failed = 0;
for (const place of required("TEST_PLACES").split(",")) {
  // What a page sees is the same whatever the host, so one does.
  const host = await start(place === "page" ? "node" : place, { apiUrl, apiKey, origin });
  const pages = place === "page" ? await openPages(origin) : undefined;
  try {
    const ctx = { sdk, terminals, place, url: host.url, origin, connection: { apiUrl, apiKey }, pages };
    const outcome = await runCases(pages ? pageCases : [...cases, ...casesOf(place), ...demoCases], ctx, { place: `broker, ${place}`, filter, print: console.log, faults });
    failed += outcome.failed;
  } finally {
    await pages?.close();
    await host.stop();
  }
}
process.exit(failed === 0 ? 0 : 1);
