// The end-to-end suite in the edge runtime: its globals are extended by the settings and by two functions.

import * as sdk from "agent-sandbox-web";
import { runSuite } from "./suite.js";

runSuite(sdk, globalThis.settings, globalThis.print).then(globalThis.finish, (error) => globalThis.finish(undefined, String(error.stack)));
