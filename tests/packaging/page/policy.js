// The program in a page whose policy allows no inline script.

import * as sdk from "/node_modules/agent-sandbox-web/dist/cdn.js";
import { run } from "/shared/program.js";

run(sdk, "/settings.json").then((line) => (document.title = line));
