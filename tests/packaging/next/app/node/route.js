import * as sdk from "agent-sandbox-web";
import { run } from "../../shared/program.js";

export const dynamic = "force-dynamic";

export const GET = async () => new Response(await run(sdk, {}));
