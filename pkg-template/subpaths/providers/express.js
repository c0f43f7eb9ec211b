// The built-in provider: Alibaba Cloud Express Edition, and every platform that speaks like it.

import { address } from "./checks.js";
import { variable } from "./config.js";
import { envdBackend } from "./envd.js";
import { InvalidAPIKeyError } from "./errors.js";
import { domainBehind } from "./place.js";
import { defineProvider } from "./provider.js";
import { CODE_OPERATIONS } from "./vocabulary.js";

const ID = "alicloud-express";
const HOME_REGION = "cn-hangzhou";

const FEATURES = [
  "sandbox.lifecycle",
  "sandbox.timeout",
  "exec.run",
  "exec.stream",
  "process.manage",
  "pty",
  "files.rw",
  "files.watch",
  "files.transfer",
  "templates.read",
  "templates.build",
  "ports.url",
  "sessions",
];
const OPERATIONS = [
  "sandbox.create",
  "sandbox.get",
  "sandbox.list",
  "sandbox.delete",
  "sandbox.timeout",
  "exec.run",
  "exec.stream",
  "files.read",
  "files.write",
  "files.list",
  "files.stat",
  "files.remove",
  "files.move",
  "ports.resolve",
];

const FIELDS = [
  { key: "region", default: HOME_REGION, env: ["ALIBABA_CLOUD_REGION_ID"] },
  { key: "access_key_id", credential: true, env: ["ALICLOUD_ACCESS_KEY_ID"] },
  { key: "access_key_secret", credential: true, secret: true, env: ["ALICLOUD_ACCESS_KEY_SECRET"] },
];

/**
 * The built-in provider. The original declares no operation of code, so neither does this one; with `code`, it declares them all
 * and carries them out with the code interpreter of the sandbox, whose template must have one.
 */
export function express({ code = false } = {}) {
  return defineProvider(
    {
      id: ID,
      name: "Alibaba Cloud Express Edition",
      nameZh: "阿里云极速版",
      kind: "builtin",
      features: FEATURES,
      operations: code ? [...OPERATIONS, ...CODE_OPERATIONS] : OPERATIONS,
      workflowInputs: ["managed"],
      startupModes: ["exec", "entrypoint", "none"],
      createOptions: ["volume_mounts"],
      inherit: ["sandbox_api_key", "sandbox_base_url", "sandbox_domain"],
      configFields: FIELDS,
      open,
    },
    { builtin: true },
  );
}

/** Addresses and key as they are in effect. The domain follows the base URL: a sandbox's token never goes to another platform. */
export function endpointsOf({ fields, generic }) {
  const region = fields.region ?? HOME_REGION;
  const baseUrl = generic.sandboxBaseUrl ? address(generic.sandboxBaseUrl, "sandboxBaseUrl", ID) : `https://api.${region}.e2b.fc.aliyuncs.com`;
  return { region, baseUrl, domain: generic.sandboxDomain ?? domainBehind(baseUrl), apiKey: generic.sandboxApiKey };
}

function open(config) {
  const { region, baseUrl, domain } = endpointsOf(config);
  const apiKey = config.generic.sandboxApiKey ?? variable(config.env, "ABX_SANDBOX_API_KEY");
  if (!apiKey) {
    throw new InvalidAPIKeyError("No API key is set. Pass the option sandboxApiKey, or set ABX_SANDBOX_API_KEY", { provider: ID });
  }
  return envdBackend({
    ...config.connection,
    id: ID,
    baseUrl,
    domain,
    headers: { authorization: `Bearer ${apiKey}` },
    secrets: [apiKey],
    sendsTokenToServers: false,
    defaults: { region, timeout: 300 },
  });
}
