// Names of providers, and sandboxes named together with theirs: `provider:sandbox-id`. Pure.

import { ProviderConfigError, ProviderMismatchError, invalid } from "./errors.js";

const ID = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const RESERVED = ["alicloud-express", "default", "all", "none", "builtin", "shortcuts", "core", "transport", "providers"];
const RESERVED_PREFIXES = ["abx-", "alicloud-", "shortcuts"];

/** Ids of providers that are known, whatever the other rules say. */
const CATALOGUE = ["opensandbox", "cubesandbox", "e2b", "alicloud-container"];

/** A name that a provider can have. */
export function providerId(value) {
  if (typeof value === "string" && value.length >= 2 && value.length <= 40 && ID.test(value)) return value;
  throw new ProviderConfigError("The id of a provider must be 2 to 40 lower-case letters, digits and single dashes, and begin with a letter");
}

/** A name that a provider of a user can have. */
export function ownProviderId(value) {
  const id = providerId(value);
  const isReserved = RESERVED.includes(id) || RESERVED_PREFIXES.some((prefix) => id.startsWith(prefix));
  if (isReserved && !CATALOGUE.includes(id)) throw new ProviderConfigError(`The provider id ${id} is reserved. Choose another one`, { provider: id });
  return id;
}

/** `provider:id`, for somebody who does not know which provider a sandbox is of. */
export function qualify(provider, sandboxId) {
  if (typeof sandboxId !== "string" || sandboxId === "") throw invalid("sandboxId of qualify must be a text that is not empty");
  return `${providerId(typeof provider === "string" ? provider : provider?.id)}:${sandboxId}`;
}

/** The parts of a reference: `{ provider?, sandboxId }`. Cut at the first colon. */
export function parseReference(reference) {
  if (typeof reference !== "string" || reference === "") throw invalid("A sandbox id must be a text that is not empty");
  const at = reference.indexOf(":");
  if (at < 0) return { sandboxId: reference };
  const sandboxId = reference.slice(at + 1);
  if (sandboxId === "") throw new ProviderConfigError("A qualified sandbox id must have an id behind the colon: provider:id");
  return { provider: providerId(reference.slice(0, at)), sandboxId };
}

/** That the provider of a reference is the one that was given. */
export function mustAgree(named, given) {
  if (named === undefined || given === undefined || named === given) return;
  throw new ProviderMismatchError(`The sandbox id names the provider ${named}, but the option provider is ${given}. Leave one of them out`, { provider: given });
}
