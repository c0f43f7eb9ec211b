// The same with messages in JSON: what is left of the difference when both clients read the same bytes.

import { open as openOurs } from "./ours.js";

export const open = (target) => openOurs(target, "json");
