// Drives the playground in headless Chromium from outside, with the cases of tests/page. `cargo xtask test --only page` starts it.

import { cases } from "../page/index.js";
import { drive } from "./drive.mjs";

await drive("demo", cases);
