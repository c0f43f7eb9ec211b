// What is known of a sandbox, read leniently from the answers of a control plane or an engine. Pure.

import { isObject } from "./checks.js";

/** Our name → the control plane's, and the engine's where it is not the same in snake case. */
const NAMES = {
  sandboxId: "sandboxID",
  template: "templateID",
  aliasName: "alias",
  status: "state",
  envdVersion: "envdVersion",
  clientId: "clientID",
  accountId: "accountID",
  userId: "userID",
  startedAt: "startedAt",
  endAt: "endAt",
  cpuCount: "cpuCount",
  memoryMb: "memoryMB",
  diskSizeMb: "diskSizeMB",
  lifecycle: "lifecycle",
  metadata: "metadata",
  reportedDomain: "domain",
  timeout: "timeout",
  region: "region",
  envdUrl: "envdUrl",
  envdAccessToken: "envdAccessToken",
};
const ENGINE_NAMES = { aliasName: "alias_name", reportedDomain: "reported_domain", envdUrl: "envd_url" };

/** Opens the sandbox, so it is not among what is printed or written as JSON. */
const SECRETS = ["envdAccessToken"];

/** The facts in an answer; undefined when it does not name a sandbox. Statuses that are newer than this package stay as they are. */
export function readInfo(answer, { region = "", timeout = 0 } = {}) {
  if (!isObject(answer)) return undefined;
  const info = {};
  for (const [name, theirs] of Object.entries(NAMES)) {
    const snake = ENGINE_NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const value = answer[theirs] ?? answer[snake] ?? null;
    if (SECRETS.includes(name)) Object.defineProperty(info, name, { value, enumerable: false });
    else info[name] = value;
  }
  if (typeof info.sandboxId !== "string" || info.sandboxId === "") return undefined;
  if (typeof info.template !== "string") info.template = "";
  if (typeof info.status !== "string") info.status = "running";
  if (!isObject(info.metadata)) info.metadata = {};
  if (typeof info.timeout !== "number") info.timeout = timeout;
  if (typeof info.region !== "string") info.region = region;
  return Object.freeze(info);
}
