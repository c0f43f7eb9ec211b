// The program in a Web Worker that a bundler made. It answers its page.

import * as sdk from "agent-sandbox-web";
import { run } from "./program.js";

run(sdk, "/settings.json").then((line) => self.postMessage(line));
