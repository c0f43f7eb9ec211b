// Tests `agent-sandbox-web/terminal`: against scripted servers, the local server, and in a page. `cargo xtask test --only terminal`
// starts it.

import * as sdk from "agent-sandbox-web";
import * as terminals from "agent-sandbox-web/terminal";
import { describe, runCases } from "../harness/run-cases.js";
import { settings } from "../harness/settings.mjs";
import { cases as client } from "./client.mjs";
import { cases as local } from "./local.mjs";
import { cases as page } from "./page.mjs";
import { cases as vectors } from "./vectors.mjs";

const { apiUrl, apiKey, origin, filter } = settings();
const faults = [];
process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${describe(reason)}`));
process.on("uncaughtException", (error) => faults.push(`uncaught exception: ${describe(error)}`));

const ctx = { sdk, terminals, apiUrl, apiKey, origin };
const { failed } = await runCases([...vectors, ...client, ...local, ...page], ctx, { place: "terminal", filter, print: console.log, faults });
process.exit(failed === 0 ? 0 : 1);
