// The program in a page that a bundler made. The title shows what it comes to.

import * as sdk from "agent-sandbox-web";
import { run } from "./program.js";

run(sdk, "/settings.json").then((line) => (document.title = line));
