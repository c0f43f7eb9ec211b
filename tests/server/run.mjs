// Tests the client of the in-image server: against recordings, against a server that misbehaves, and against the real one in a
// local sandbox. `cargo xtask test --only server` starts it.

import * as main from "agent-sandbox-web";
import * as edge from "agent-sandbox-web/edge";
import * as server from "agent-sandbox-web/server";
import { describe, runCases } from "../harness/run-cases.js";
import { settings as given } from "../harness/settings.mjs";
import { cases as defects } from "./defects.mjs";
import { build } from "./image.mjs";
import { openPages, cases as pages } from "./page.mjs";
import { cases as protocol } from "./protocol.mjs";
import { cases as real } from "./real.mjs";
import { cases as vectors } from "./vectors.mjs";

const { apiUrl, apiKey, origin, filter } = given();
const faults = [];
process.on("unhandledRejection", (reason) => faults.push(`unhandled rejection: ${describe(reason)}`));

const connection = { apiUrl, apiKey };
const ctx = { sdk: { ...main, ...edge, ...server }, connection, origin };
const options = { filter, print: console.log, faults };
const matches = (cases) => cases.some(({ name }) => !filter || name.includes(filter));

let { failed } = await runCases([...vectors, ...protocol], ctx, { place: "server client", ...options });
if (matches([...real, ...defects, ...pages])) {
  await build(ctx.sdk, connection);
  failed += (await runCases([...real, ...defects], ctx, { place: "server client, real server", ...options })).failed;
}
if (matches(pages)) {
  ctx.pages = await openPages(origin);
  try {
    failed += (await runCases(pages, ctx, { place: "server client, page", ...options })).failed;
  } finally {
    await ctx.pages.close();
  }
}
process.exit(failed === 0 ? 0 : 1);
