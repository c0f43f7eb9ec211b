// What the demo page shows, driven from outside in Chromium. Each case is given a fresh page.

import { cases as files } from "./files.js";
import { cases as look } from "./look.js";
import { cases as reload } from "./reload.js";
import { cases as session } from "./session.js";
import { cases as terminal } from "./terminal.js";

export const cases = [...session, ...terminal, ...files, ...look, ...reload];
