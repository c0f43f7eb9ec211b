// The program in a runtime with an environment, from which the package takes the address and the key.

import * as sdk from "agent-sandbox-web";
import { run } from "./program.js";

console.log(await run(sdk, {}));
