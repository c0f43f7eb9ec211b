// What a configuration comes to and why, for people: each value with its place, secrets masked, and what looks like a mistake.

import { FIELDS, candidates, regionOf } from "./evaluate.js";
import { NAMES, SETTINGS, VARIABLES, isOfOthers } from "./keys.js";
import { nearest } from "./nearest.js";
import { placeOf } from "./resolve.js";

/** Names that people write for others. */
const MEANT = {
  ABX_API_KEY: "ABX_SANDBOX_API_KEY",
  ABX_DOMAIN: "ABX_SANDBOX_DOMAIN",
  ABX_BASE_URL: "ABX_SANDBOX_BASE_URL",
  ABX_API_URL: "ABX_SANDBOX_BASE_URL",
  ABX_REGION: "ALIBABA_CLOUD_REGION_ID",
  ABX_ACCESS_KEY_ID: "ALICLOUD_ACCESS_KEY_ID",
  ABX_ACCESS_KEY_SECRET: "ALICLOUD_ACCESS_KEY_SECRET",
  E2B_KEY: "E2B_API_KEY",
  E2B_TOKEN: "E2B_ACCESS_TOKEN",
  E2B_BASE_URL: "E2B_API_URL",
};

export class Explanation {
  constructor(outcome) {
    this.options = optionsOf(outcome);
    this.settings = SETTINGS.map(({ key, option, secret, used }) => entry(option, outcome.settings.get(key), { secret, used }));
    this.warnings = [...outcome.findings.warnings, ...misnamed(outcome), ...suspicious(outcome)];
    this.errors = outcome.findings.errors.map(({ error }) => error);
  }

  toString() {
    const rows = [["option", "value", "from"], ...this.options.map(row)];
    const settings = this.settings.filter(({ layer }) => !["default", "unset", "derived"].includes(layer));
    if (settings.length > 0) rows.push([], ["setting", "value", "from"], ...settings.map(row));
    const widths = [0, 1].map((column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
    const lines = rows.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
    const notes = [...this.errors.map(({ message }) => `error: ${message}`), ...this.warnings.map(({ message }) => `warning: ${message}`)];
    return [...lines, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
}

/** A secret as it may be shown: enough to tell whether it is there, and whether something was lost. */
export function masked(value) {
  const text = String(value);
  return `${text.startsWith("e2b_") ? "e2b_" : ""}… (${text.length} character${text.length === 1 ? "" : "s"})`;
}

/** One line of an explanation. */
function entry(name, found, { secret = false, used = true } = {}) {
  const { value, layer, source, variable, line, from } = found;
  const shown = value === undefined ? undefined : secret ? masked(value) : withoutCredentials(value);
  return { name, value: shown, secret, used, layer, source, variable: variable ?? from, line };
}

/** A refused URL may have a password in it. */
function withoutCredentials(value) {
  return typeof value === "string" ? value.replace(/\/\/[^/@]*@/, "//…@") : value;
}

function optionsOf(outcome) {
  const { resolved, fields, variables, options, config } = outcome;
  const unset = { layer: "unset" };
  // What the core refuses does not come to anything, but where it stands can be told.
  if (!resolved) return Object.keys(FIELDS).map((field) => entry(field, candidates(field, outcome)[0] ?? unset, { secret: field === "apiKey" }));
  const valueOf = (name) => ({ value: resolved[name], layer: "default" });
  const place = (name, fallback) => (fields[name] ? { ...fields[name], value: resolved[name] ?? fields[name].value } : fallback);
  const flag = (name, variable) => {
    const { [name]: given } = options.connection;
    if (given !== undefined) return { value: given, layer: "override", source: "override", variable: name };
    return variables.has(variable) ? { ...variables.get(variable), value: resolved[name] } : valueOf(name);
  };
  const region = regionOf(outcome);
  const domain = region && region.layer !== "default" ? { ...region, value: resolved.domain, layer: "derived" } : valueOf("domain");
  const follows = (variable) => ({ layer: "derived", source: "option", variable });
  const apiUrl = { ...follows(resolved.debug ? "debug" : "domain"), value: resolved.apiUrl };
  const timeout = options.connection.requestTimeoutMs === undefined ? valueOf("requestTimeoutMs") : flag("requestTimeoutMs");
  const token = variables.get("E2B_ACCESS_TOKEN");
  const auth = config?.auth ?? options.connection.auth;
  const signed = outcome.settings.get("access_key_secret");
  return [
    entry("apiKey", place("apiKey", unset), { secret: true }),
    entry("accessToken", token && !auth ? token : unset, { secret: true }),
    entry("auth", auth === undefined ? unset : options.signs ? signed : { value: "set", layer: "override", source: "override", variable: "auth" }, { secret: options.signs }),
    entry("domain", place("domain", domain)),
    entry("apiUrl", place("apiUrl", apiUrl)),
    entry("sandboxUrl", place("sandboxUrl", unset)),
    entry("volumeApiUrl", place("volumeApiUrl", unset)),
    entry("debug", flag("debug", "E2B_DEBUG")),
    entry("validateApiKey", flag("validateApiKey", "E2B_VALIDATE_API_KEY")),
    entry("requestTimeoutMs", timeout),
  ];
}

function row({ name, value, used, layer, source, variable, line }) {
  const where = line === undefined ? source : `${source}, line ${line}`;
  const from = {
    override: "override",
    derived: source === "option" ? `follows from ${variable}` : `follows from ${variable} (${source})`,
    default: "default",
    unset: "not set",
  };
  return [name, value === undefined ? "-" : String(value), `${from[layer] ?? `${variable} (${where})`}${used ? "" : ", no effect here"}`];
}

/** Variables with our prefixes, and keys of files, that nothing reads. */
function misnamed({ layers }) {
  const warnings = [];
  const warn = (code, place, what, meant) => {
    const hint = meant === undefined ? "" : `. Did you mean ${meant}?`;
    warnings.push({ code, message: `${placeOf(place)} ${what}${hint}`, variable: place.variable, source: place.source, suggestion: meant });
  };
  for (const layer of layers) {
    const at = (variable) => ({ variable, source: layer.name, layer: layer.kind, line: layer.variable(variable)?.line });
    for (const name of layer.names()) {
      if (NAMES.includes(name) || isOfOthers(name)) continue;
      const meant = MEANT[name] ?? MEANT[nearest(name, Object.keys(MEANT))] ?? nearest(name, NAMES);
      if (/^(ABX|E2B)_/.test(name)) warn("unknown_variable", at(name), "is read by nobody", nearest(name, NAMES) ?? meant);
      else if (/^(ALIBABA_CLOUD|ALICLOUD)_/.test(name) && nearest(name, NAMES)) warn("unknown_variable", at(name), "is read by nobody", nearest(name, NAMES));
    }
    for (const name of layer.refused) warn("not_readable", at(name), "may not be read by this program, and counts as unset");
    for (const [section, table] of layer.tables ?? []) {
      for (const key of Object.keys(table)) {
        const setting = SETTINGS.find((one) => one.key === key);
        const place = { variable: `${section}.${key}`, source: layer.name, layer: layer.kind };
        if (setting?.sections.includes(section)) continue;
        if (setting?.sections.length === 0) warn("ignored", place, `does not count: put it into a .env file, as ${setting.env.at(-1)}`);
        else if (setting) warn("ignored", place, `does not count there: it belongs to [${setting.sections.at(-1)}]`);
        else if (/^(core|transport|providers\.alicloud-express)$/.test(section)) warn("unknown_key", place, "is read by nobody", nearest(key, SETTINGS.map((one) => one.key)));
      }
    }
  }
  return warnings;
}

/** Values that are probably not what was meant. */
function suspicious({ variables, fields, resolved, settings }) {
  const warnings = [];
  const warn = (place, what) => warnings.push({ code: "suspicious_value", message: `${placeOf(place)} ${what}`, variable: place.variable, source: place.source, suggestion: undefined });
  const word = (name) => variables.get(name)?.value.toLowerCase();
  const isWord = (name) => [undefined, "true", "false"].includes(word(name));
  if (!isWord("E2B_DEBUG")) warn(variables.get("E2B_DEBUG"), "counts as false: only the word true turns debug mode on");
  if (!isWord("E2B_VALIDATE_API_KEY")) warn(variables.get("E2B_VALIDATE_API_KEY"), "counts as true: only the word false turns the check off");
  for (const name of Object.keys(VARIABLES)) {
    const found = variables.get(name);
    if (found && found.value !== found.value.trim()) warn(found, "has white space around it, which is not removed");
  }
  if (resolved?.debug && fields.domain) warn(fields.domain, "has no effect in debug mode");
  const baseUrl = settings.get("sandbox_base_url");
  if (fields.apiUrl && fields.apiUrl === baseUrl && !fields.domain && settings.get("region").layer === "default") {
    warn(baseUrl, `says nothing about where sandboxes are: they are looked for below ${resolved.domain}. Set ABX_SANDBOX_DOMAIN as well`);
  }
  return warnings;
}
