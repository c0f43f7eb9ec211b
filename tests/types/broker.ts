// The broker and the page's side of it, as a strict consumer without Node types compiles them.

import { Sandbox } from "agent-sandbox-web";
import type { AttachedSandbox, SandboxScope } from "agent-sandbox-web";
import { createSandboxBroker, memoryStorage } from "agent-sandbox-web/edge";
import type { BrokerStorage, SandboxBrokerOpts } from "agent-sandbox-web/edge";

const storage: BrokerStorage = memoryStorage();
const scopes: SandboxScope[] = ["run", "files:read", "port:8080"];

export const options: SandboxBrokerOpts = {
  apiKey: "k",
  secret: ["new", "old"],
  allowedOrigins: ["https://app.example"],
  authorize: async (request) => (request.headers.has("x") ? { visitor: "v", scopes, sandbox: { template: "t" } } : undefined),
  sandbox: { envs: { A: "1" }, lifecycle: { onTimeout: "pause" } },
  limits: { minutes: 5 },
  storage,
};

export const broker: (request: Request) => Promise<Response> = createSandboxBroker(options);

export async function visit(endpoint: string): Promise<string> {
  const sandbox: AttachedSandbox = await Sandbox.attach({ endpoint, scopes, headers: () => ({ a: "b" }) }, { requestTimeoutMs: 5 });
  const plain: Sandbox = await Sandbox.attach({ sandboxId: "i" }, { refresh: () => ({ sandboxId: "i" }) });
  const answer: Response = await sandbox.fetchPort(8080, "/", { method: "POST" });
  // @ts-expect-error there is no such scope
  await Sandbox.attach({ endpoint, scopes: ["fly"] });
  // @ts-expect-error a broker must know who asks
  createSandboxBroker({ apiKey: "k", secret: "s", allowedOrigins: [] });
  // @ts-expect-error the class that a token opens has no ports
  await plain.fetchPort(1, "/");
  return answer.text();
}
