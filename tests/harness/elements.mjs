// Drives the elements in headless Chromium from outside, with the cases of tests/elements. `cargo xtask test --only elements`
// starts it.

import { cases } from "../elements/index.js";
import { drive } from "./drive.mjs";
import { startFaultProxy } from "./fault-proxy.mjs";
import { settings } from "./settings.mjs";

/** Kernels take their time to start, and matplotlib to be imported, on a machine that has other things to do. In ms. */
const LIMIT = 180_000;

await drive("elements", cases.map((one) => ({ timeoutMs: LIMIT, ...one })), { faultsUrl: await startFaultProxy(settings().apiUrl) });
