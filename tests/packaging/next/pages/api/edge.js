// Of the pages router: with webpack, Next.js 16.4 cannot build a route of the app router for this runtime, whatever is in it.

import * as sdk from "agent-sandbox-web";
import { run } from "../../shared/program.js";

export const config = { runtime: "edge" };

export default async () => new Response(await run(sdk, {}));
