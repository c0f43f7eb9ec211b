// The cases of the in-page code runner.

import { cases as access } from "./access.js";
import { cases as code } from "./code.js";
import { cases as demo } from "./demo.js";
import { cases as files } from "./files.js";
import { cases as results } from "./results.js";
import { cases as terminal } from "./terminal.js";

export const cases = [...code, ...results, ...terminal, ...files, ...access, ...demo];
