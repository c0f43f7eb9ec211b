// Any request of the control plane, for what no class covers.

import { options as read } from "./arguments.js";
import { ConnectionConfig, givenTo } from "./connection.js";
import { _exchange } from "./core_bg.js";
import { AuthenticationError } from "./errors.js";
import { JSON_TYPE, defined, parsed, route } from "./exchange.js";
import { invalid } from "./options.js";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** These statuses have no body, and `Response` refuses one. */
const BODILESS = [204, 205, 304];

export class ApiClient {
  constructor(config, { requireApiKey = true } = {}) {
    const settings = config instanceof ConnectionConfig ? config : new ConnectionConfig(config);
    const opts = givenTo(settings);
    if (requireApiKey && !settings.apiKey && !opts.auth) {
      throw new AuthenticationError("No API key is set. Pass the option apiKey or auth, set E2B_API_KEY, or pass requireApiKey: false", {
        code: "unauthenticated",
      });
    }
    const call = (method) => (path, init) => request(method, path, init, opts, !requireApiKey);
    this.api = Object.freeze(Object.fromEntries(METHODS.map((method) => [method, call(method)])));
  }
}

async function request(method, path, init, opts, anonymous) {
  const { params, body, headers, signal, requestTimeoutMs } = read(init, `ApiClient ${method}`);
  const { path: segments, query, header } = read(params, `params of ApiClient ${method}`);
  const target = filled(path, read(segments, "params.path of ApiClient")) + queryOf(read(query, "params.query of ApiClient"));
  const parts = { anonymous, ...(body === undefined ? {} : { type: JSON_TYPE, body: jsonOf(body) }) };
  const apiHeaders = { ...defined(opts.apiHeaders), ...defined(headers), ...defined(header) };
  const [text, status, pairs] = await _exchange(method, target, "raw", parts, { ...opts, ...defined({ requestTimeoutMs }), apiHeaders, signal });
  const response = new Response(BODILESS.includes(status) ? null : text, { status, headers: pairs });
  return response.ok ? { data: text === "" ? undefined : parsed(text), response } : { error: readError(text), response };
}

/** `/sandboxes/{sandboxID}` with the values in place of their names. */
function filled(path, values) {
  if (typeof path !== "string" || !path.startsWith("/")) throw invalid("The path of an ApiClient's request must begin with a slash");
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (!["string", "number"].includes(typeof value) || value === "") throw invalid(`params.path.${name} of ApiClient must be a string or number`);
    return route(String(value)).slice(1);
  });
}

/** Lists are separated by commas, as the control plane reads them. */
function queryOf(query) {
  const pairs = String(new URLSearchParams(Object.entries(defined(query)).map(([name, value]) => [name, String(value)])));
  return pairs === "" ? "" : `?${pairs}`;
}

function jsonOf(body) {
  let text;
  try {
    text = JSON.stringify(body);
  } catch {
    // What cannot be said in JSON is refused below.
  }
  if (text === undefined) throw invalid("body of ApiClient must be plain data");
  return text;
}

/** A refusal may be in words. */
function readError(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
