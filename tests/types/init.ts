// A strict consumer that starts the core itself, where the global types have `WebAssembly`.

import { init } from "agent-sandbox-web";
import type { InitSource } from "agent-sandbox-web";
import { init as initSlim } from "agent-sandbox-web/slim";

export async function starts(module: WebAssembly.Module, response: Promise<Response>): Promise<void> {
  const sources: (InitSource | Promise<InitSource>)[] = ["/core.wasm", new URL("https://a.b/"), module, response, new Uint8Array()];
  await init(sources[0]);
  await init();
  await initSlim(module);
  // @ts-expect-error numbers are no source
  await init(7);
}
