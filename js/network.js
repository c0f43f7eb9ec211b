// Network settings as callers write them, and as the control plane takes them.

import { ignore } from "./host.js";
import { invalid } from "./options.js";
import { placeholder } from "./secret.js";

export const ALL_TRAFFIC = "0.0.0.0/0";

/** What every object may be asked for by the language itself: none of it is meant as the name of a token. */
const ASKED_OF_ANY_OBJECT = ["toJSON", "then", "toString", "valueOf"];

/**
 * Plain data for the wire: callbacks are called, a `Map` becomes an object, empty transforms are left out. `tokens` are the names
 * in `iam.tokens`; undefined when only the platform knows them.
 */
export function networkOnWire(network, tokens) {
  if (typeof network !== "object" || network === null) return network;
  const wire = { ...network };
  if (network.rules !== undefined) wire.rules = rulesOnWire(network.rules, { iam: { tokens: placeholders(tokens) } });
  const context = { allTraffic: ALL_TRAFFIC, rules: new Map(Object.entries(wire.rules ?? {})) };
  for (const name of ["allowOut", "denyOut"]) {
    if (typeof network[name] === "function") wire[name] = network[name](context);
    if (wire[name] !== undefined && !isStrings(wire[name])) {
      throw invalid(`network.${name} must be an array of strings, or a function that returns one`);
    }
  }
  return wire;
}

function isStrings(value) {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** An object that answers any name of a token with what stands for it. A name that is not registered is a mistake. */
function placeholders(tokens) {
  return new Proxy(
    {},
    {
      ownKeys: () => tokens ?? [],
      getOwnPropertyDescriptor: (_, name) => (tokens?.includes(name) ? { value: placeholder("identity.tokens", name), enumerable: true, configurable: true } : undefined),
      get(_, name) {
        if (typeof name === "symbol") return undefined;
        if (tokens === undefined ? !ASKED_OF_ANY_OBJECT.includes(name) : tokens.includes(name)) return placeholder("identity.tokens", name);
        if (ASKED_OF_ANY_OBJECT.includes(name)) return undefined;
        throw invalid(`A transform of network.rules uses the token ${JSON.stringify(name)}, which iam.tokens does not have. It has: ${tokens.join(", ") || "none"}`);
      },
    },
  );
}

function rulesOnWire(rules, context) {
  const entries = typeof rules?.entries === "function" ? [...rules.entries()] : Object.entries(rules ?? {});
  return Object.fromEntries(entries.map(([host, list]) => [host, listOnWire(host, list, context)]));
}

function listOnWire(host, list, context) {
  const name = `network.rules[${JSON.stringify(host)}]`;
  if (!Array.isArray(list)) throw invalid(`${name} must be an array of { transform?: { headers } }`);
  return list.map((rule) => {
    const { transform } = Object(rule);
    const made = typeof transform === "function" ? transform(context) : transform;
    // A promise is refused below, and what it rejects with is not reported a second time.
    ignore(made);
    const headers = made?.headers ?? {};
    // An undefined value is how callers leave a header out conditionally.
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    const isPlain = [made ?? {}, rule, headers].every((value) => typeof value === "object" && value !== null && typeof value.then !== "function");
    if (!isPlain || !isStrings(Object.values(given))) {
      throw invalid(`${name} must be an array of { transform?: { headers } }, with texts as headers, or with a function in place of transform that returns it at once`);
    }
    return Object.keys(given).length > 0 ? { transform: { headers: given } } : {};
  });
}
