// Where a port of a sandbox is, as its provider says it: checked member by member before anything is sent there. Pure, but for the
// clock.

import { isObject } from "./checks.js";
import { ProviderProtocolError } from "./errors.js";

/** The descriptor of exactly this port, or an error. */
export function checkedEndpoint(given, { provider, sandboxId, port }) {
  const wrong = (why) => new ProviderProtocolError(`The provider ${provider} described port ${port} wrongly: ${why}. Nothing was sent there`, { provider });
  if (!isObject(given)) throw wrong("it is no object");
  if (given.provider_id !== provider) throw wrong("provider_id is another provider");
  if (given.sandbox_id !== sandboxId) throw wrong("sandbox_id is another sandbox");
  if (given.port !== port) throw wrong("port is another port, or not a number");
  if (given.authentication_audience !== "gateway") throw wrong('authentication_audience is not "gateway"');
  if (typeof given.url !== "string") throw wrong("url is not a text");
  if (!isObject(given.headers) || !Object.values(given.headers).every((value) => typeof value === "string")) throw wrong("headers is not an object with texts");
  if (typeof given.path_mode !== "string") throw wrong("path_mode is not a text");
  const { url, headers, path_mode: pathMode, expires_at: expiresAt = undefined } = given;
  return { url, headers: { ...headers }, pathMode, expiresAt: expiresAt ?? undefined };
}

/** Refuses an endpoint whose time is over. A time without a zone could mean anything. */
export function mustLive(expiresAt, fail) {
  if (expiresAt === undefined) return;
  const hasZone = typeof expiresAt === "string" && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(expiresAt);
  const end = hasZone ? Date.parse(expiresAt) : Number.NaN;
  if (Number.isNaN(end)) throw fail("expires_at is not an ISO 8601 time with a zone");
  if (end <= Date.now()) throw fail("it has expired. Resolve the port again");
}
