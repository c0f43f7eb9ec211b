// Every case of the provider family.

import { sandboxVectors } from "./sandbox-vectors.js";
import { wireVectors } from "./wire-vectors.js";

export const cases = [...sandboxVectors, ...wireVectors];
