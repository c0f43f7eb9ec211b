// From layers to connection options. What the variables come to is the core's business, which is asked through `ConnectionConfig` with
// one environment made of all layers. Here is only: which of the candidates for an option is the one that won, and so must be named
// when it is wrong, and is handed on as an option.

import { ConnectionConfig, InvalidArgumentError } from "#package";
import { NAMES, PROVIDER, REGIONS, SETTINGS } from "./keys.js";
import { layersOf } from "./layers.js";
import { nearest } from "./nearest.js";
import { Findings, findSettings, findVariables, placeOf } from "./resolve.js";

/** Options that may come from several places, each with its variable and its setting. */
export const FIELDS = {
  apiKey: ["E2B_API_KEY", "sandbox_api_key"],
  domain: ["E2B_DOMAIN", "sandbox_domain"],
  apiUrl: ["E2B_API_URL", "sandbox_base_url"],
  sandboxUrl: ["E2B_SANDBOX_URL"],
  volumeApiUrl: ["E2B_VOLUME_API_URL"],
};

const PLATFORMS = ["auto", "e2b", PROVIDER];
const HOSTS_OF_E2B = /(^|\.)(e2b\.(app|dev|pro)|e2b-staging\.dev)$/;
const HOSTS_OF_ALIBABA = /(^|\.)aliyuncs\.com$/;

/**
 * Everything that `loadConfig` and `explainConfig` tell: `{ config, fields, resolved, settings, variables, layers, findings }`. What is
 * wrong is in `findings.errors`; then `config` is undefined.
 */
export function evaluate(sources, opts, owner) {
  const options = readOptions(opts, owner);
  const layers = layersOf(sources, owner);
  const findings = new Findings();
  const settings = findSettings(layers, options.settings, findings);
  const variables = findVariables(layers, findings);
  const outcome = { options, layers, findings, settings, variables, fields: {} };
  // Settings of the other platform are not looked at, so they cannot be wrong. Nor can those be that nothing here acts on.
  const counts = ({ key }) => NAMES.includes(key) || (options.platform !== "e2b" && SETTINGS.some((setting) => setting.key === key && setting.used));
  for (const { error } of findings.errors.filter((one) => !counts(one))) findings.warn("unusable_value", error.message);
  findings.errors = findings.errors.filter(counts);
  if (findings.errors.length > 0) return outcome;

  const auth = options.connection.auth ?? accessKey(outcome);
  const { signs } = options;
  const platform = options.platform ?? (signs ? PROVIDER : undefined);
  const asked = { ...options.connection, ...(auth && { auth }), ...(platform && { platform }), environment: environmentOf(outcome) };
  if (findings.errors.length > 0) return outcome;
  try {
    outcome.resolved = new ConnectionConfig(asked);
  } catch (error) {
    if (!["invalid_argument", "unauthenticated", "access_key_in_page"].includes(error?.code)) throw error;
    findings.errors.push({ error: named(error, outcome) });
    return outcome;
  }
  for (const field of Object.keys(FIELDS)) outcome.fields[field] = winner(field, outcome);
  checkRegion(outcome);
  checkKey(outcome);
  if (findings.errors.length === 0) outcome.config = assemble(outcome, auth);
  return outcome;
}

/** The options of `loadConfig` and its like, with the overrides told apart: connection options, and settings. */
export function readOptions(opts, owner) {
  if (opts !== undefined && opts !== null && (typeof opts !== "object" || Array.isArray(opts))) throw wrong(`The options of ${owner} must be an object`);
  const { overrides = {}, platform, signWithAccessKey = false } = opts ?? {};
  if (typeof overrides !== "object" || overrides === null || Array.isArray(overrides)) throw wrong(`Option overrides of ${owner} must be an object of connection options and settings`);
  if (platform !== undefined && !PLATFORMS.includes(platform)) throw wrong(`Option platform of ${owner} must be ${PLATFORMS.map((name) => JSON.stringify(name)).join(" or ")}`);
  if (typeof signWithAccessKey !== "boolean") throw wrong(`Option signWithAccessKey of ${owner} must be a boolean`);
  const connection = {};
  const settings = {};
  for (const [name, value] of Object.entries(overrides)) {
    if (name === "environment") throw wrong(`Option overrides of ${owner} cannot have environment: give it as the first argument`);
    if (name === "platform") throw wrong(`Option overrides of ${owner} cannot have platform: it is an option of ${owner} itself`);
    if (value === undefined || value === null) continue;
    const isSetting = SETTINGS.some(({ option }) => option === name);
    (isSetting ? settings : connection)[name] = value;
  }
  return { connection, settings, platform, signs: signWithAccessKey };
}

/** All layers as one environment: the best value of everything that the core reads. */
function environmentOf({ settings, variables }) {
  const environment = {};
  for (const [name, { value }] of variables) environment[name] = value;
  for (const { key, env, used } of SETTINGS) {
    const found = settings.get(key);
    if (used && isSet(found)) environment[env.at(-1)] = found.value;
  }
  return environment;
}

function isSet(found) {
  return found !== undefined && !["default", "derived", "unset"].includes(found.layer);
}

/** The access key as `auth`, when requests are to be signed with it. */
function accessKey({ options, settings, findings }) {
  if (!options.signs) return undefined;
  const [id, secret] = [settings.get("access_key_id"), settings.get("access_key_secret")];
  if (isSet(id) && isSet(secret)) return { accessKeyId: id.value, accessKeySecret: secret.value };
  const missing = ["ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET"].filter((_, index) => !isSet([id, secret][index]));
  findings.fail("access_key_id", `signWithAccessKey needs ${missing.join(" and ")}, which ${missing.length > 1 ? "are" : "is"} not set`);
  return undefined;
}

/** What an option may come from, best first. */
export function candidates(field, { options, settings, variables }) {
  const given = options.connection[field];
  const list = given === undefined ? [] : [{ value: given, variable: field, layer: "override", source: "override" }];
  if (field === "apiKey" && (options.connection.auth || options.signs)) return list;
  for (const name of FIELDS[field]) {
    if (variables.get(name)?.value) list.push(variables.get(name));
    if (isSet(settings.get(name)) && options.platform !== "e2b") list.push(settings.get(name));
  }
  return list;
}

/** The candidate that is what the core answers; undefined when the option is a default or follows from others. */
function winner(field, outcome) {
  if (field === "volumeApiUrl") return candidates(field, outcome)[0];
  const trimmed = (value) => (field.endsWith("Url") ? String(value).replace(/\/+$/, "") : value);
  return candidates(field, outcome).find(({ value }) => trimmed(value) === outcome.resolved[field]);
}

/** The error of the core, with the variable that is wrong in place of the option that it has become. */
function named(error, outcome) {
  // The setting for the last one does not count in debug mode.
  const suspects = ["domain", "sandboxUrl", "volumeApiUrl", "apiUrl"];
  const place = error.code === "unauthenticated" ? candidates("apiKey", outcome)[0] : suspects.map((field) => refused(field, outcome)).find(Boolean);
  if (!place || place.layer === "override") return error;
  return new error.constructor(`${placeOf(place)} is refused: ${error.message}`, { code: error.code });
}

/** The best candidate of an option if it is what the core refuses, asked about it alone. */
function refused(field, outcome) {
  const region = outcome.settings.get("region");
  const fallback = field === "domain" && isSet(region) ? { ...region, value: `${region.value}.example` } : undefined;
  const place = candidates(field, outcome)[0] ?? fallback;
  if (!place) return undefined;
  try {
    new ConnectionConfig(field === "volumeApiUrl" ? { environment: { E2B_VOLUME_API_URL: place.value } } : { [field]: place.value, environment: {} });
    return undefined;
  } catch {
    return place;
  }
}

/** Whether the domain is the one of the region, and which place says so: undefined for the home region. */
export function regionOf({ resolved, fields, settings }) {
  const region = settings.get("region");
  return !fields.domain && resolved.domain === `${region.value}.e2b.fc.aliyuncs.com` ? region : undefined;
}

/** A region that looks like none, or like a known one with a typing error. */
function checkRegion(outcome) {
  const { findings } = outcome;
  const region = regionOf(outcome);
  if (!region || REGIONS.includes(region.value)) return;
  const shape = /^[a-z]{2}(-[a-z0-9]+)+$/;
  // Numbers are no typing errors: there will be regions with higher ones.
  const nameless = (name) => name.replace(/\d+$/, "");
  const meant = nearest(region.value.toLowerCase().replace(/[_ ]/g, "-"), REGIONS);
  const hint = meant === undefined ? "" : `. Did you mean ${meant}?`;
  if (!shape.test(region.value) || (meant !== undefined && nameless(meant) !== nameless(region.value))) {
    findings.fail("region", `${placeOf(region)} is no region${hint || ". Regions are written like cn-hangzhou"}`);
  } else {
    findings.warn("unknown_region", `${placeOf(region)} is a region that is not known here; it is used as it is`, region);
  }
}

/** No key may go to the wrong platform. */
function checkKey({ resolved, fields, findings, options }) {
  const { apiKey: place } = fields;
  if (!place || place.layer === "override") return;
  const host = new URL(resolved.apiUrl).hostname;
  const target = options.connection.apiUrl ? "the override apiUrl" : fields.apiUrl?.variable ?? fields.domain?.variable ?? "the other settings";
  const change = (own) => `. Set ${own}, or pass the key as the override apiKey if it is meant`;
  if (/^e2b_[0-9a-f]{40}$/.test(resolved.apiKey) && HOSTS_OF_ALIBABA.test(host)) {
    findings.fail("apiKey", `${placeOf(place)} is a key of E2B, but ${target} would send it to ${host}${change("ABX_SANDBOX_API_KEY")}`);
  }
  if (place.variable !== "E2B_API_KEY" && HOSTS_OF_E2B.test(host)) {
    findings.fail("apiKey", `${placeOf(place)} is a key of Alibaba Cloud, but ${target} would send it to ${host}${change("E2B_API_KEY")}`);
  }
}

/**
 * The options that say the same as all layers, and with `environment` that nothing else does. What is a default or follows from
 * other options is left out, so that an option that is put over them has the effect that it would have had.
 */
function assemble(outcome, auth) {
  const { options, resolved, fields, settings, variables } = outcome;
  const config = { ...options.connection, ...(auth && { auth }) };
  const environment = {};
  for (const field of ["apiKey", "apiUrl", "sandboxUrl"]) if (fields[field]) config[field] = resolved[field];
  if (fields.domain) config.domain = resolved.domain;
  else if (resolved.domain !== new ConnectionConfig({ environment: {} }).domain) {
    // An open domain lets a server on this machine be recognised by its answers, wherever this machine is.
    const isOpen = fields.apiUrl && fields.apiUrl !== settings.get("sandbox_base_url");
    if (!isOpen) config.domain = resolved.domain;
    else {
      config.platform = PROVIDER;
      if (isSet(settings.get("region"))) environment.ALIBABA_CLOUD_REGION_ID = settings.get("region").value;
    }
  }
  if (resolved.debug) config.debug = true;
  if (resolved.validateApiKey) config.validateApiKey = true;
  // There are no options for these.
  if (variables.get("E2B_ACCESS_TOKEN")?.value && !auth) environment.E2B_ACCESS_TOKEN = variables.get("E2B_ACCESS_TOKEN").value;
  if (fields.volumeApiUrl) environment.E2B_VOLUME_API_URL = fields.volumeApiUrl.value;
  config.environment = environment;
  return config;
}

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
