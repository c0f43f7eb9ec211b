// The program in a module Web Worker, without a bundler.

import * as sdk from "/node_modules/agent-sandbox-web/dist/index.js";
import { run } from "/shared/program.js";

run(sdk, "/settings.json").then((line) => self.postMessage(line));
