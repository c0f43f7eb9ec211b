// Tests the provider family in the places that TEST_PLACES names. `cargo xtask test --only providers` starts it.

import * as sdk from "agent-sandbox-web";
import * as providers from "agent-sandbox-web/providers";
import { describe, runCases } from "../harness/run-cases.js";
import { required, settings as given } from "../harness/settings.mjs";
import { cases } from "./index.js";
import { runInWorkerd } from "./workerd.mjs";

const { apiUrl, apiKey, filter } = given();
const faults = [];
process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${describe(reason)}`));

let failed = 0;
for (const place of required("TEST_PLACES").split(",")) {
  const options = { place: `providers, ${place}`, filter, print: console.log, faults };
  const outcome = place === "node" ? await runCases(cases, { sdk, providers, apiUrl, apiKey }, options) : await runInWorkerd({ apiUrl, apiKey, filter });
  failed += outcome.failed;
}
process.exit(failed === 0 ? 0 : 1);
