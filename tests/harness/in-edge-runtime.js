// The end-to-end suite in the edge runtime: its globals are extended by the settings and by two functions.

import * as sdk from "agent-sandbox-web";
import * as config from "agent-sandbox-web/config";
import { runSuite } from "./suite.js";

runSuite(sdk, globalThis.settings, globalThis.print, undefined, { config }).then(globalThis.finish, (error) => globalThis.finish(undefined, String(error.stack)));
