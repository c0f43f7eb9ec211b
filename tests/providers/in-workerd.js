// The cases in a Worker: the request that it is sent runs them all, and its answer is what they print.

import * as sdk from "agent-sandbox-web";
import * as providers from "agent-sandbox-web/providers";
import { describe, runCases } from "../harness/run-cases.js";
import { cases } from "./index.js";

const faults = [];
addEventListener("unhandledrejection", (event) => faults.push(`unhandled rejection: ${describe(event.reason)}`));

export default {
  async fetch(_request, env) {
    const { filter, ...settings } = env.SETTINGS;
    const lines = [];
    const options = { place: "providers, workerd", filter, print: (line) => lines.push(line), faults };
    const { failed } = await runCases(cases, { sdk, providers, ...settings }, options);
    return Response.json({ lines, failed });
  },
};
