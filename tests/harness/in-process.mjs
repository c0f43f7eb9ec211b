// The end-to-end suite in Node, Deno and Bun, through the installed package. `process.mjs` starts it.

import * as sdk from "agent-sandbox-web";
import * as config from "agent-sandbox-web/config";
import { runSuite } from "./suite.js";

let copies = 0;
const fresh = () => import(`${import.meta.resolve("agent-sandbox-web")}?fresh=${copies++}`);
// Deno and Bun have one instance of a package, whatever follows its name.
const hasCopies = !("Deno" in globalThis || "Bun" in globalThis);
const { failed } = await runSuite(sdk, JSON.parse(process.env.TEST_SETTINGS), console.log, hasCopies ? fresh : undefined, { config });

// What a case left running must not keep the process: it counted as a failure if it mattered.
process.exit(failed === 0 ? 0 : 1);
