// What the server permits to whoever asks, as it has told once: which endpoints there are, which are allowed, and their limits.
// Data and questions about it; sends nothing.

import { ProtocolError } from "#package";
import { isObject } from "./check.js";
import { EndpointUnavailableError, PolicyDeniedError, failure } from "./errors.js";
import { camel } from "./json.js";

/** The version of the server's interface that this client knows. */
const API_VERSION = 2;

export class ServerCapabilities {
  constructor(document) {
    if (document?.api_version !== API_VERSION || !isObject(document.endpoints)) {
      throw new ProtocolError(`The server does not speak version ${API_VERSION} of its interface, which is the one that this client knows`, { code: "protocol_error" });
    }
    const { server_version, identity, policy, groups, group_summary, warnings } = document;
    this.apiVersion = API_VERSION;
    this.serverVersion = String(server_version ?? "");
    this.identity = { id: String(identity?.id ?? ""), scopes: list(identity?.scopes) };
    this.policy = { preset: String(policy?.preset ?? ""), revision: String(policy?.revision ?? ""), configured: policy?.configured === true };
    this.groups = isObject(groups) ? { ...groups } : {};
    this.groupSummary = isObject(group_summary) ? { ...group_summary } : {};
    this.warnings = list(warnings);
    this.endpoints = Object.fromEntries(Object.entries(document.endpoints).filter(([, one]) => isObject(one)).map(([id, one]) => [id, endpointOf(id, one)]));
    this.document = document;
  }

  info(id) {
    return Object.hasOwn(this.endpoints, id) ? this.endpoints[id] : undefined;
  }

  can(id) {
    return this.denial(id) === undefined;
  }

  /** Why an endpoint cannot be used, as a code. */
  denial(id) {
    const found = this.info(id);
    if (found === undefined) return "unknown_endpoint";
    if (!found.enabled) return found.reason ?? "endpoint_disabled";
    return found.allowed ? undefined : (found.reason ?? "missing_scope");
  }

  demand(id) {
    const code = this.denial(id);
    if (code === undefined) return;
    const { scopes = [], rule } = this.info(id) ?? {};
    if (code === "missing_scope") {
      throw failure(PolicyDeniedError, code, `Endpoint ${id} needs the scope ${scopes[0]}, which this token does not have`, { status: 403, code, endpoint: id, scope: scopes[0] });
    }
    const message = `Endpoint ${id} is not available: ${code}. ${rule === undefined ? "This server does not have it" : `Rule ${rule} of the server's policy switches it off`}`;
    throw failure(EndpointUnavailableError, "endpoint_disabled", message, { status: 404, code, endpoint: id, rule });
  }

  limit(id, key) {
    return this.info(id)?.limits[key];
  }

  param(id, key) {
    return this.info(id)?.params[key];
  }

  /** The ids of the endpoints that need a scope. */
  endpointsFor(scope) {
    return Object.values(this.endpoints)
      .filter(({ scopes }) => scopes.includes(scope))
      .map(({ id }) => id)
      .sort();
  }

  /** The ids of the endpoints that can be used. */
  available() {
    return Object.keys(this.endpoints)
      .filter((id) => this.can(id))
      .sort();
  }
}

function endpointOf(id, { method, path, group, summary, streaming, enabled = true, allowed = true, reason, rule, scopes, limits, params, paths }) {
  return {
    id,
    method: String(method ?? ""),
    path: String(path ?? ""),
    group: String(group ?? ""),
    summary: String(summary ?? ""),
    streaming: streaming === true,
    enabled: enabled !== false,
    allowed: allowed !== false,
    reason: reason ?? undefined,
    rule: rule ?? undefined,
    scopes: list(scopes),
    limits: isObject(limits) ? camel(limits) : {},
    params: isObject(params) ? camel(params) : {},
    paths: isObject(paths) ? camel(paths) : undefined,
  };
}

function list(value) {
  return Array.isArray(value) ? value.map(String) : [];
}
