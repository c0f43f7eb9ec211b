// The standard client for code.

import { Sandbox } from "../../clients/node/node_modules/@e2b/code-interpreter/dist/index.js";
import { connect, methods } from "./e2b.js";

export const open = async (target) => methods(await connect(Sandbox, target));
