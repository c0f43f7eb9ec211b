// `agent-sandbox-web/config` against the recordings of the platform's other client: what options a client ends up with, where its
// requests go and with which credentials. No server is needed.

import { assert, equal } from "./assert.js";
import { load, replay } from "./vectors.js";

const isPage = typeof location === "object" && location !== null;
const REGION = /^cn-hangzhou(?=\.e2b\.fc\.aliyuncs\.com$)|(?<=[/.-])cn-hangzhou(?=\.e2b\.fc\.aliyuncs\.com$)/;
const camelCase = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

/** What requests of a client with these options look like, by making some. */
async function used(sdk, config) {
  const noted = {};
  const fetch = async (input, { headers }) => {
    const url = new URL(input);
    if (url.pathname === "/sandboxes/sbx123") Object.assign(noted, { api_url: url.origin, headers });
    else if (url.pathname.startsWith("/files")) noted.envd_url = url.origin;
    else if (url.pathname.startsWith("/volumecontent")) noted.volume_api_url = url.origin;
    if (url.pathname === "/volumes/v") return Response.json({ volumeID: "v", name: "v", token: "t" });
    return url.pathname.startsWith("/sandboxes") ? Response.json({ sandboxID: "sbx123", templateID: "t", envdVersion: "0.6.5", envdAccessToken: "t" }) : new Response("content");
  };
  // Every call needs some key, and some of the recordings have it checked.
  const options = { ...config, apiKey: config.apiKey ?? "e2b_00", fetch };
  await sdk.Sandbox.getFullInfo("sbx123", options);
  const sandbox = await sdk.Sandbox.connect("sbx123", options);
  await sandbox.files.read("/a");
  await (await sdk.Volume.connect("v", options)).readFile("/a");
  return { ...noted, host_8080: sandbox.getHost(8080), envd_direct_url: new URL(await sandbox.downloadUrl("/a")).origin };
}

export const cases = [
  {
    name: "config vectors: what all sources come to",
    async run({ sdk, config: { envFile, explainConfig, loadConfig, toml } }) {
      const compare = async ({ env, args, project_dotenv, home_dotenv, home_config_toml, expect }) => {
        const { request_timeout, integration, ...given } = args;
        const overrides = Object.fromEntries(Object.entries(given).map(([name, value]) => [camelCase(name), value]));
        if (request_timeout !== undefined) overrides.requestTimeoutMs = request_timeout * 1000;
        const sources = [env, envFile(project_dotenv), envFile(home_dotenv, { name: "~/.abx/.env" }), toml(home_config_toml)];
        const opts = { overrides, platform: "alicloud-express" };
        const config = loadConfig(sources, opts);
        const settings = new sdk.ConnectionConfig(config);
        const { headers, ...requests } = await used(sdk, config);
        const { user_agent, request_timeout: seconds, ...theirs } = expect;
        // A page cannot send the headers that a shared host needs.
        if (isPage) theirs.envd_url = expect.sandbox_url_override ?? expect.envd_direct_url;
        const entries = Object.fromEntries(explainConfig(sources, opts).options.map((entry) => [entry.name, entry]));
        for (const name of ["domain", "apiUrl", "debug", "validateApiKey", "requestTimeoutMs"]) equal(entries[name].value, settings[name], `${name} as it is explained`);
        const ours = {
          ...requests,
          domain: settings.domain,
          debug: settings.debug,
          api_key: config.apiKey ?? null,
          access_token: headers.authorization?.replace("Bearer ", "") ?? null,
          validate_api_key: settings.validateApiKey,
          sandbox_url_override: settings.sandboxUrl ?? null,
          request_timeout: settings.requestTimeoutMs,
        };
        equal(headers["x-api-key"], config.apiKey ?? "e2b_00");
        equal(requests.api_url, new URL(settings.apiUrl).origin);
        const sorted = (object) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
        return [sorted(ours), sorted({ ...theirs, request_timeout: (seconds ?? 0) * 1000 })];
      };
      // The domain follows the region, whatever the base URL comes from.
      const instead = { base_url_env_with_region: (theirs) => theirs.map(([name, value]) => [name, typeof value === "string" ? value.replace(REGION, "cn-shanghai") : value]) };
      await replay("config-resolution", "cases", compare, instead);
    },
  },
  {
    name: "config vectors: which layer a setting comes from",
    async run({ config: { envFile, explainConfig, loadSettings, toml } }) {
      const LAYERS = { override: "override", environment: "environ", envFile: "dotenv", toml: "toml", derived: "derived", default: "default" };
      const compare = ({ overrides, environ, dotenv, toml: tables, expect }) => {
        const files = dotenv.map((file, index) => envFile(lines(file), { name: `.env ${index}` }));
        const sources = [environ, ...files, toml(tablesOf(tables))];
        const opts = { overrides: Object.fromEntries(Object.entries(overrides).map(([name, value]) => [camelCase(name), value])) };
        const values = loadSettings(sources, opts);
        const entries = explainConfig(sources, opts).settings;
        const ours = Object.keys(expect).map((key) => {
          const { layer, variable } = entries.find(({ name }) => name === camelCase(key));
          const name = layer === "derived" || layer === "default" ? "" : layer === "override" ? key : variable;
          if (layer === "override") equal(variable, camelCase(key));
          return [key, [values[camelCase(key)], LAYERS[layer], name]];
        });
        equal(values.sandboxApiKey === undefined, !("sandbox_api_key" in expect), "whether there is a key");
        equal(values.githubToken, undefined);
        return [ours, Object.entries(expect)];
      };
      const derived = ["ap-southeast-1.e2b.fc.aliyuncs.com", "derived", ""];
      const instead = { derive_blocked_by_env_base_url: (theirs) => theirs.map(([key, value]) => [key, key === "sandbox_domain" ? derived : value]) };
      await replay("config-resolution", "resolver_cases", compare, instead);
    },
  },
  {
    name: "config vectors: every setting by every name, with its default, in the files that may have it",
    async run({ config: { envFile, explainConfig, loadSettings, toml } }) {
      const { recorded } = await load("config-keys");
      const scoped = recorded.generic_endpoint_keys;
      const SAMPLES = { str: ["v"], url: ["https://v.example"], path: ["/v"], int: [7], float: [1.5], bool: [true, false] };
      const SECTIONS = ["core", "transport", "providers.alicloud-express"];
      equal(explainConfig({}).settings.map(({ name }) => name), recorded.keys.map(({ key }) => camelCase(key)), "settings");
      await replay("config-keys", "keys", (one) => {
        const option = camelCase(one.key);
        const entry = explainConfig({}).settings.find(({ name }) => name === option);
        const names = [...(scoped.includes(one.key) ? [`ABX_ALICLOUD_EXPRESS_${one.key.toUpperCase()}`] : []), ...one.env_names];
        for (const sample of one.type === "enum" ? one.choices : SAMPLES[one.type]) {
          for (const name of names) {
            equal(loadSettings({ [name]: ` ${sample} ` })[option], sample, name);
            equal(loadSettings(envFile(`${name}="${sample}"`))[option], sample, `${name} in a file`);
          }
          equal(loadSettings({}, { overrides: { [option]: String(sample) } })[option], sample, "override");
        }
        const [sample] = one.type === "enum" ? ["ERROR"] : one.type === "bool" ? [false] : SAMPLES[one.type];
        // The best name first.
        if (names.length > 1) equal(loadSettings({ [names[1]]: "second", [names[0]]: "first" })[option], "first");
        const sections = SECTIONS.filter((section) => loadSettings(toml(`[${section}]\n${one.key} = ${JSON.stringify(sample)}`))[option] === sample);
        const wanted = one.toml_section ?? (one.storage?.file === "toml" ? one.storage.section : undefined);
        const ofProvider = !one.secret && (scoped.includes(one.key) || one.scope === "alicloud-express") && wanted;
        const ours = [loadSettings({})[option] ?? null, entry.secret, sections];
        return [ours, [one.default, one.secret, [...(wanted ? [wanted] : []), ...(ofProvider ? ["providers.alicloud-express"] : [])]]];
      });
      for (const key of recorded.tuning_keys) equal(explainConfig({}).settings.find(({ name }) => name === camelCase(key)).used, false, `${key}: connections are the host's`);
      equal(loadSettings({}).provider, recorded.builtin_provider.id);
      assert(scoped.length === 3, "the settings with a name of the provider");
    },
  },
];

const lines = (variables) => Object.entries(variables).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`).join("");

/** Tables as TOML, as far as the recordings have it. */
function tablesOf(object, path = []) {
  const isTable = ([, value]) => typeof value === "object";
  const pairs = Object.entries(object);
  const own = pairs.filter((pair) => !isTable(pair)).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  const head = own.length > 0 && path.length > 0 ? `[${path.join(".")}]\n` : "";
  return head + own.join("") + pairs.filter(isTable).map(([key, value]) => tablesOf(value, [...path, key])).join("");
}
