// Every case of the provider family.

import { application } from "./application.js";
import { engine } from "./engine.js";
import { failures } from "./failures.js";
import { gates } from "./gates.js";
import { live } from "./live.js";
import { sandboxVectors } from "./sandbox-vectors.js";
import { wireVectors } from "./wire-vectors.js";

export const cases = [...sandboxVectors, ...wireVectors, ...gates, ...failures, ...application, ...engine, ...live];
