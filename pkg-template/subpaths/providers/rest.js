// REST providers: platforms that speak like the built-in one, at an address of their own, given as plain objects.

import { address, isObject } from "./checks.js";
import { envdBackend } from "./envd.js";
import { InvalidAPIKeyError, ProviderConfigError } from "./errors.js";
import { domainBehind } from "./place.js";
import { defineProvider } from "./provider.js";

/** Headers that an API key cannot travel in: they belong to the transport, or to the request. */
const TAKEN = ["host", "connection", "content-length", "content-type", "transfer-encoding", "cookie", "origin", "accept"];

export function restProvider(given) {
  if (!isObject(given)) throw new ProviderConfigError("A REST provider must be an object with id, baseUrl, features and operations");
  const { baseUrl, domain, auth, apiKey, features = [], operations = [], ...rest } = given;
  const wrong = (message) => new ProviderConfigError(`The provider ${typeof given.id === "string" ? given.id : "given"}: ${message}`, { provider: given.id });
  const header = headerOf(auth, wrong);
  if (apiKey !== undefined && typeof apiKey !== "string") throw wrong("apiKey must be a text");
  const home = baseUrl === undefined ? undefined : address(baseUrl, "baseUrl", `the provider ${given.id}`);
  if (domain !== undefined && typeof domain !== "string") throw wrong("domain must be a text");
  const provider = defineProvider({ ...rest, kind: "rest", features, operations, open: (config) => open(provider.id, config, { home, domain, apiKey, header }) });
  return provider;
}

function headerOf(auth, wrong) {
  const { scheme = "bearer", header = "X-API-Key" } = auth ?? {};
  if (scheme === "bearer") return { name: "authorization", prefix: "Bearer " };
  if (scheme !== "header") throw wrong('auth.scheme must be "bearer" or "header"');
  if (typeof header !== "string" || !/^[\w!#$%&'*+.^`|~-]+$/.test(header) || TAKEN.includes(header.toLowerCase())) {
    throw wrong("auth.header must be the name of a header that is free for a key");
  }
  return { name: header.toLowerCase(), prefix: "" };
}

function open(id, { fields, generic, connection }, { home, domain, apiKey, header }) {
  const baseUrl = generic.sandboxBaseUrl ? address(generic.sandboxBaseUrl, "sandboxBaseUrl", id) : home;
  if (!baseUrl) throw new ProviderConfigError(`The provider ${id} has no address. Give it a baseUrl`, { provider: id });
  const key = fields.api_key ?? apiKey ?? generic.sandboxApiKey;
  if (!key) throw new InvalidAPIKeyError(`The provider ${id} has no API key. Give it apiKey, or pass providerOptions: { api_key }`, { provider: id });
  return envdBackend({
    ...connection,
    id,
    baseUrl,
    domain: generic.sandboxDomain ?? domain ?? domainBehind(baseUrl),
    headers: { [header.name]: header.prefix + key },
    secrets: [key],
    sendsTokenToServers: true,
    defaults: { region: "", timeout: 0 },
  });
}
