// Configuration, as a strict consumer without Node types compiles it.

import { ConnectionConfig, E2B, Sandbox } from "agent-sandbox-web";
import { envFile, explainConfig, loadConfig, loadSettings, toml } from "agent-sandbox-web/config";
import type { SandboxAuth } from "agent-sandbox-web";
import type { ConfigEntry, ConfigExplanation, ConfigWarning, LoadedConfig, Settings } from "agent-sandbox-web/config";
import { createSandboxBroker } from "agent-sandbox-web/edge";

/** What a Worker is given. */
interface Env {
  E2B_API_KEY: string;
  SECRET: string;
  KV: { get(key: string): Promise<string | null> };
}

declare const Deno: { env: { get(name: string): string | undefined; toObject(): Record<string, string> } };

export async function worker(env: Env): Promise<Sandbox> {
  const config: LoadedConfig = loadConfig(env);
  const settings = new ConnectionConfig(config);
  const client = new E2B({ ...config, requestTimeoutMs: 5 });
  createSandboxBroker({ ...config, secret: env.SECRET, allowedOrigins: ["https://app.example"], authorize: () => "visitor" });
  await Sandbox.kill("i1", config);
  await client.Sandbox.create("base", { ...loadConfig([Deno.env, envFile("A=1"), toml("[transport]")]), validateApiKey: settings.validateApiKey });
  return Sandbox.create(config);
}

export const loaded: LoadedConfig = loadConfig([{ A: "1" }, envFile("A=1", { name: ".env.local", e2b: true })], {
  overrides: { apiKey: "k", headers: { a: "b" }, region: "cn-beijing", http2: "off", httpTimeout: 5 },
  platform: "alicloud-express",
  signWithAccessKey: true,
});

export const explained: ConfigExplanation = explainConfig({});
export const entries: readonly ConfigEntry[] = explained.options;
export const codes: ConfigWarning["code"][] = explained.warnings.map(({ code }) => code);
export const messages: string[] = explained.errors.map(({ message }) => message);
export const settings: Settings = loadSettings({ ABX_HTTP2: false });
export const seconds: number = settings.httpTimeout;
export const values: Readonly<Record<string, string>> = envFile("").values;

export const auths: SandboxAuth[] = [{ accessKeyId: "i", accessKeySecret: "s", securityToken: "t" }, { bearer: "b" }, async () => ({ a: "b" })];

// @ts-expect-error there is no such platform
loadConfig({}, { platform: "aws" });
// @ts-expect-error the environment is the first argument
loadConfig({}, { overrides: { environment: {} } });
// @ts-expect-error a text must say what it is
loadConfig("E2B_API_KEY=k");
// @ts-expect-error there is no such setting
export const missing = settings.sandboxUrl;
