// Looks for one setting or variable in all layers, the best first. A layer is searched completely before the next one; inside of it
// the name of the provider precedes the general one. A blank value, and a text that is not of the setting's type, count as
// unset and the search goes on: it becomes a warning. What is no text at all where there must be one is a mistake.

import { InvalidArgumentError } from "#package";
import { SETTINGS, VARIABLES } from "./keys.js";

/** What is told of a search beside its result. */
export class Findings {
  warnings = [];
  /** Errors by the key of the setting or the name of the variable. */
  errors = [];

  warn(code, message, { variable, source } = {}, suggestion) {
    this.warnings.push({ code, message, variable, source, suggestion });
  }

  fail(key, message) {
    this.errors.push({ key, error: new InvalidArgumentError(message, { code: "invalid_argument" }) });
  }
}

/** Where something stands, in words. */
export function placeOf({ variable, source, layer, line }) {
  if (layer === "override") return `The override ${variable}`;
  return `${variable} of ${layer === "environment" ? `the ${source}` : source}${line === undefined ? "" : `, line ${line}`}`;
}

/** All settings of the platform: `Map` of key to `{ value, layer, source, variable, line }`. */
export function findSettings(layers, overrides, findings) {
  const found = new Map();
  for (const setting of SETTINGS) {
    const one = findSetting(setting, layers, overrides, findings);
    found.set(setting.key, one ?? (setting.fallback === undefined ? { layer: "unset" } : { value: setting.fallback, layer: "default" }));
  }
  derive(found);
  return found;
}

function findSetting(setting, layers, overrides, findings) {
  for (const place of placesOf(setting, layers, overrides)) {
    const value = coerced(place, setting, findings);
    if (value !== undefined) return { ...place, value };
  }
  return undefined;
}

/** Where a setting stands, best first. */
function* placesOf({ key, option, env, sections }, layers, overrides) {
  const given = overrides[option];
  if (given !== undefined && given !== null) yield { value: given, variable: option, layer: "override", source: "override" };
  for (const layer of layers) {
    const where = { layer: layer.kind, source: layer.name };
    if (layer.kind === "toml") {
      for (const section of sections) {
        const found = layer.key(section, key);
        if (found) yield { ...where, ...found };
      }
      continue;
    }
    for (const name of env) {
      const found = layer.variable(name);
      if (found) yield { ...where, ...found };
    }
  }
}

/** The value as its type, or undefined where it counts as unset. */
function coerced(place, { key, type, words, least, secret }, findings) {
  const { value } = place;
  const unusable = (wanted) => {
    const seen = secret || typeof value !== "string" ? "" : `, not ${JSON.stringify(value.slice(0, 60))}`;
    findings.warn("unusable_value", `${placeOf(place)} is passed over: it must be ${wanted}${seen}`, place);
    return undefined;
  };
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text === "") return undefined;
  switch (type) {
    case "boolean":
      if (typeof value === "boolean") return value;
      if (text === undefined) return mistaken(key, place, "a boolean", findings);
      if (/^(true|1|yes|on)$/i.test(text)) return true;
      return /^(false|0|no|off)$/i.test(text) ? false : unusable("true, 1, yes, on, false, 0, no or off");
    case "number":
    case "whole": {
      const wanted = type === "whole" ? "a whole number" : "a number";
      if (text === undefined && typeof value !== "number") return mistaken(key, place, wanted, findings);
      const isNumber = text === undefined || /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
      const number = Number(text ?? value);
      if (!isNumber || !Number.isFinite(number) || (type === "whole" && !Number.isSafeInteger(number))) return unusable(wanted);
      if (number < least) {
        findings.fail(key, `${placeOf(place)} must be ${least} or more`);
        return undefined;
      }
      return number;
    }
    case "word": {
      if (text === undefined) return mistaken(key, place, `one of ${words.join(", ")}`, findings);
      const word = text.toUpperCase();
      return words.includes(word) ? word : unusable(`one of ${words.join(", ")}`);
    }
    default:
      return text ?? mistaken(key, place, "a text", findings);
  }
}

/** What depends on the region and is not set itself. */
function derive(found) {
  const { value: region, ...place } = found.get("region");
  for (const [key, domain] of [["sandbox_base_url", `https://api.${region}.e2b.fc.aliyuncs.com`], ["sandbox_domain", `${region}.e2b.fc.aliyuncs.com`]]) {
    if (found.get(key).layer !== "unset") continue;
    const layer = place.layer === "default" ? "default" : "derived";
    found.set(key, { value: domain, layer, ...(layer === "derived" && { source: place.source, from: place.variable }) });
  }
}

/** The variables of the standard clients: `Map` of name to `{ value, layer, source, variable, line }`, as far as they are set. */
export function findVariables(layers, findings) {
  const found = new Map();
  for (const [name, { type, emptyCounts }] of Object.entries(VARIABLES)) {
    for (const layer of layers) {
      const one = layer.variable(name);
      const place = one && { ...one, layer: layer.kind, source: layer.name };
      if (!one || (one.value === "" && !emptyCounts)) continue;
      if (!layer.hasE2b) {
        findings.warn("ignored", `${placeOf(place)} does not count: such names are read from environments only. envFile(text, { e2b: true }) lets them count`, place);
        continue;
      }
      // A Worker may have variables of other types in its configuration.
      const isSame = typeof one.value === type && type !== undefined;
      if (typeof one.value !== "string" && !isSame) mistaken(name, place, type === undefined ? "a text" : `a ${type} or a text`, findings);
      else found.set(name, { ...place, value: String(one.value) });
      break;
    }
  }
  return found;
}

/** A value that can be nobody's intention. Its content may be secret, so only its kind is told. */
function mistaken(key, place, wanted, findings) {
  const { value } = place;
  const kind = Array.isArray(value) ? "an array" : value instanceof Date ? "a date" : typeof value === "object" ? "an object" : `a ${typeof value}`;
  const isSecretsStore = place.layer === "environment" && typeof value?.get === "function";
  const remedy = isSecretsStore ? `. If it is a binding of a secrets store, ask it first: loadConfig([{ ${place.variable}: await env.${place.variable}.get() }, env])` : "";
  findings.fail(key, `${placeOf(place)} must be ${wanted}, not ${kind}${remedy}`);
  return undefined;
}

