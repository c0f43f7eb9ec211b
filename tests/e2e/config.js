// Environments as configuration: what hosts bring, what is wrong, what is explained, and that a sandbox can be made with the result.

import { assert, equal, rejects } from "./assert.js";

const isPage = typeof location === "object" && location !== null;
const KEY_OF_E2B = `e2b_${"0123456789".repeat(4)}`;

/** The error of a function that must throw one. */
const thrown = (type, call, code = "invalid_argument") => rejects((async () => call())(), type, code);

const warned = (explained) => explained.warnings.map(({ code, variable, suggestion }) => [code, variable, suggestion]);

export const cases = [
  {
    name: "config: a sandbox is made with what an environment comes to",
    async run({ sdk, config: { loadConfig }, apiKey, apiUrl }) {
      const config = loadConfig({ E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, HOME: "/root" });
      equal(config, { apiKey, apiUrl: apiUrl.replace(/\/+$/, ""), environment: {} });
      const sandbox = await sdk.Sandbox.create(config);
      try {
        equal((await sandbox.commands.run("echo hello")).stdout, "hello\n");
        const { Sandbox } = new sdk.E2B({ ...config, metadata: { a: "b" } });
        equal((await Sandbox.getInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId);
        equal(new sdk.ConnectionConfig(config).apiKey, apiKey);
      } finally {
        await sandbox.kill();
      }
    },
  },
  {
    name: "config: a server on this machine is found by its answers, wherever this machine is",
    async run({ sdk, config: { loadConfig }, apiKey, apiUrl }) {
      const config = loadConfig({ E2B_API_KEY: "local", E2B_API_URL: apiUrl, ALIBABA_CLOUD_REGION_ID: "cn-beijing" });
      equal(new sdk.ConnectionConfig(config).domain, "cn-beijing.e2b.fc.aliyuncs.com");
      const sandbox = await sdk.Sandbox.create({ ...config, apiKey });
      try {
        equal((await sandbox.commands.run("echo hello")).stdout, "hello\n");
      } finally {
        await sandbox.kill();
      }
    },
  },
  {
    name: "config: an environment and a platform can be options, which a sandbox keeps",
    async run({ sdk, apiKey, apiUrl }) {
      const { ConnectionConfig, InvalidArgumentError, Sandbox } = sdk;
      const sandbox = await Sandbox.create({ environment: { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_DEBUG: { not: "a text" } } });
      try {
        equal((await sandbox.getInfo()).sandboxId, sandbox.sandboxId);
      } finally {
        await sandbox.kill();
      }
      const region = { ALIBABA_CLOUD_REGION_ID: "cn-beijing" };
      const domain = (platform, environment) => new ConnectionConfig({ platform, environment }).domain;
      equal([domain(undefined, region), domain("auto", region), domain("e2b", region)], [...Array(2).fill("cn-beijing.e2b.fc.aliyuncs.com"), "e2b.app"]);
      equal(domain("alicloud-express", {}), "cn-hangzhou.e2b.fc.aliyuncs.com");
      for (const environment of [5, "E2B_API_KEY=k", [], () => {}]) {
        assert((await thrown(InvalidArgumentError, () => new ConnectionConfig({ environment }))).message.includes("environment"), "named");
      }
      for (const platform of ["aws", "", 5]) await thrown(InvalidArgumentError, () => new ConnectionConfig({ platform }));
    },
  },
  {
    name: "config: the environment of the process is not read in addition",
    async run({ sdk, config: { loadConfig } }) {
      const { process } = globalThis;
      const ambient = { E2B_API_KEY: "ambient", E2B_DOMAIN: "ambient.test", E2B_ACCESS_TOKEN: "ambient", E2B_DEBUG: "true", E2B_SANDBOX_URL: "http://ambient.test" };
      const sent = async (config) => {
        let seen;
        const fetch = async (input, { headers }) => ((seen = [new URL(input).origin, headers["x-api-key"], headers.authorization]), new Response("{}", { status: 404 }));
        await rejects(sdk.Sandbox.getInfo("i1", { ...config, fetch }), sdk.SandboxError);
        return seen;
      };
      const isNode = typeof process?.versions?.node === "string" && process.env !== undefined;
      const before = isNode ? { ...process.env } : {};
      try {
        if (isNode) Object.assign(process.env, ambient);
        equal(await sent(loadConfig({ E2B_API_KEY: "mine" })), ["https://api.e2b.app", "mine", undefined]);
        equal(await sent(loadConfig({})), undefined, "without a key nothing is sent");
        if (isNode) equal((await sent(loadConfig(process.env)))[1], "ambient");
        const { debug, sandboxUrl, environment } = loadConfig(ambient);
        equal([debug, sandboxUrl, environment], [true, "http://ambient.test", { E2B_ACCESS_TOKEN: "ambient" }]);
        equal((await sent(loadConfig({ E2B_API_KEY: "mine", E2B_ACCESS_TOKEN: "token" })))[2], "Bearer token");
      } finally {
        if (isNode) for (const name of Object.keys(ambient)) name in before ? (process.env[name] = before[name]) : delete process.env[name];
      }
    },
  },
  {
    name: "config: what hosts bring as an environment",
    async run({ sdk, config: { explainConfig, loadConfig, loadSettings } }) {
      // A Worker has bindings of all kinds, and variables that are no texts.
      const kv = { get: async () => "x", put: async () => {} };
      const worker = { E2B_API_KEY: "k", E2B_DEBUG: true, ABX_HTTP2: false, ABX_HTTP_TIMEOUT: 5, KV: kv, ASSETS: { fetch() {} }, DB: Object.create(null) };
      equal(loadConfig(worker), { apiKey: "k", debug: true, environment: {} });
      equal([loadSettings(worker).http2, loadSettings(worker).httpTimeout], [false, 5]);
      const store = await thrown(sdk.InvalidArgumentError, () => loadConfig({ E2B_API_KEY: kv }));
      assert(store.message.includes("E2B_API_KEY") && store.message.includes("await env.E2B_API_KEY.get()"), store.message);
      // Deno asks the user for each variable, and may say no.
      const asked = [];
      const variables = { E2B_API_KEY: "k", ABX_SANDBOX_DOMAN: "d" };
      const deno = {
        get(name) {
          asked.push(name);
          if (name === "E2B_DOMAIN") throw new Error("NotCapable");
          return variables[name];
        },
        toObject: () => variables,
      };
      equal(loadConfig(deno).apiKey, "k");
      assert(asked.includes("ABX_SANDBOX_DOMAIN") && !asked.includes("HOME"), "variables are asked for by name");
      equal(warned(explainConfig(deno)), [["unknown_variable", "ABX_SANDBOX_DOMAN", "ABX_SANDBOX_DOMAIN"], ["not_readable", "E2B_DOMAIN", undefined]]);
      const secretive = { get: () => undefined, toObject: () => { throw new Error("NotCapable"); } };
      equal(explainConfig(secretive).warnings, []);
      const throwing = Object.defineProperty({}, "E2B_API_KEY", { get: () => { throw new Error("no"); } });
      equal(loadConfig(throwing), { environment: {} });
      for (const wrong of [undefined, null, 5, "E2B_API_KEY=k", [], [null], new Map(), () => {}, [["E2B_API_KEY", "k"]]]) {
        const error = await thrown(sdk.InvalidArgumentError, () => loadConfig(wrong));
        assert(error.message.includes("loadConfig"), error.message);
      }
      for (const opts of [5, [], { overrides: 5 }, { overrides: [] }, { platform: "aws" }, { signWithAccessKey: 1 }, { overrides: { environment: {} } }, { overrides: { platform: "e2b" } }]) {
        await thrown(sdk.InvalidArgumentError, () => loadConfig({}, opts));
      }
    },
  },
  {
    name: "config: the platform is the one whose settings are there",
    async run({ sdk, config: { loadConfig } }) {
      const domain = (env, opts) => new sdk.ConnectionConfig(loadConfig(env, opts)).domain;
      const region = { ALIBABA_CLOUD_REGION_ID: "cn-beijing" };
      equal(domain({}), "e2b.app");
      equal(domain({}, { platform: "alicloud-express" }), "cn-hangzhou.e2b.fc.aliyuncs.com");
      equal(domain({ ABX_SANDBOX_API_KEY: "k" }), "cn-hangzhou.e2b.fc.aliyuncs.com");
      equal(domain(region), "cn-beijing.e2b.fc.aliyuncs.com");
      equal(domain({ ...region, E2B_API_KEY: KEY_OF_E2B }), "e2b.app");
      equal(domain({ ...region, ABX_SANDBOX_DOMAIN: "d.test" }, { platform: "e2b" }), "e2b.app");
      equal(domain({}, { overrides: { region: "cn-shanghai" } }), "cn-shanghai.e2b.fc.aliyuncs.com");
      equal(domain({ ABX_SANDBOX_DOMAIN: { not: "looked at" } }, { platform: "e2b" }), "e2b.app");
      // What follows from others is left out, so that the others can be changed.
      const config = loadConfig({ ABX_SANDBOX_API_KEY: "k", ...region });
      equal(config, { apiKey: "k", domain: "cn-beijing.e2b.fc.aliyuncs.com", environment: {} });
      equal(new sdk.ConnectionConfig({ ...config, domain: "other.test" }).apiUrl, "https://api.other.test");
    },
  },
  {
    name: "config: what is wrong is named with its variable and source, never with a secret",
    async run({ sdk, config: { explainConfig, loadConfig, envFile, toml } }) {
      const wrong = [
        [{ E2B_API_URL: "api.e2b.app" }, "E2B_API_URL of the environment"],
        [{ E2B_API_URL: "https://me:hunter2@x.test" }, "E2B_API_URL of the environment"],
        [{ E2B_SANDBOX_URL: "ftp://x" }, "E2B_SANDBOX_URL of the environment"],
        [{ E2B_VOLUME_API_URL: "x" }, "E2B_VOLUME_API_URL of the environment"],
        [{ E2B_DOMAIN: "https://x.test" }, "E2B_DOMAIN of the environment"],
        [[{}, envFile("\nABX_SANDBOX_BASE_URL=x")], "ABX_SANDBOX_BASE_URL of .env, line 2"],
        [[{}, { ABX_SANDBOX_DOMAIN: "a/b" }], "ABX_SANDBOX_DOMAIN of the environment 2"],
        [toml('[transport]\nregion = "cn hangzhou"'), "transport.region of config.toml"],
        [toml("[transport]\nsandbox_domain = 5"), "transport.sandbox_domain of config.toml must be a text, not a number"],
        [{ ALIBABA_CLOUD_REGION_ID: "cn-hangzou" }, "Did you mean cn-hangzhou?"],
        [{ ALIBABA_CLOUD_REGION_ID: "CN-Beijing" }, "Did you mean cn-beijing?"],
        [{ ALIBABA_CLOUD_REGION_ID: "nowhere" }, "ALIBABA_CLOUD_REGION_ID of the environment is no region"],
        [{ E2B_API_KEY: 5 }, "E2B_API_KEY of the environment must be a text, not a number"],
        [{ E2B_DOMAIN: ["x"] }, "E2B_DOMAIN of the environment must be a text, not an array"],
        [{ ABX_SANDBOX_API_KEY: true }, "ABX_SANDBOX_API_KEY of the environment must be a text, not a boolean"],
        // No key may go to the wrong platform.
        [{ E2B_API_KEY: KEY_OF_E2B, ABX_SANDBOX_DOMAIN: "cn-beijing.e2b.fc.aliyuncs.com" }, "E2B_API_KEY of the environment is a key of E2B, but ABX_SANDBOX_DOMAIN"],
        [{ ABX_SANDBOX_API_KEY: "hunter2", E2B_DOMAIN: "e2b.app" }, "ABX_SANDBOX_API_KEY of the environment is a key of Alibaba Cloud, but E2B_DOMAIN"],
      ];
      for (const [sources, part] of wrong) {
        const error = await thrown(sdk.InvalidArgumentError, () => loadConfig(sources));
        assert(error.message.includes(part), `${part}: ${error.message}`);
        const explained = explainConfig(sources);
        equal(explained.errors.map(({ message }) => message), [error.message]);
        for (const text of [error.message, String(explained), JSON.stringify(explained)]) {
          assert(!text.includes("hunter2") && !text.includes(KEY_OF_E2B), `a secret: ${text}`);
        }
      }
      const checked = await thrown(sdk.AuthenticationError, () => loadConfig({ E2B_API_KEY: "hunter2", E2B_VALIDATE_API_KEY: "true" }), "unauthenticated");
      assert(checked.message.startsWith("E2B_API_KEY of the environment") && !checked.message.includes("hunter2"), checked.message);
      equal(loadConfig({ E2B_API_KEY: "e2b_0a", E2B_VALIDATE_API_KEY: "" }).validateApiKey, true);
      // Numbers are no typing errors, and there will be more regions.
      const later = { ALIBABA_CLOUD_REGION_ID: "ap-southeast-12" };
      equal(loadConfig(later).domain, "ap-southeast-12.e2b.fc.aliyuncs.com");
      equal(warned(explainConfig(later)), [["unknown_region", "ALIBABA_CLOUD_REGION_ID", undefined]]);
      // A region that nothing depends on is nobody's business.
      loadConfig({ ALIBABA_CLOUD_REGION_ID: "nowhere", E2B_DOMAIN: "d.test" });
    },
  },
  {
    name: "config: typing errors and values that are hardly meant are found",
    async run({ config: { explainConfig } }) {
      const one = (env) => warned(explainConfig(env));
      for (const [name, meant] of [
        ["ABX_API_KY", "ABX_SANDBOX_API_KEY"],
        ["ABX_SANDBOX_API_KY", "ABX_SANDBOX_API_KEY"],
        ["ABX_REGION", "ALIBABA_CLOUD_REGION_ID"],
        ["E2B_APIKEY", "E2B_API_KEY"],
        ["E2B_DOMIAN", "E2B_DOMAIN"],
        ["ALIBABA_CLOUD_REGION", "ALIBABA_CLOUD_REGION_ID"],
        ["E2B_SOMETHING_ELSE_ENTIRELY", undefined],
      ]) {
        equal(one({ [name]: "x" }), [["unknown_variable", name, meant]]);
      }
      const others = ["ABX_SERVER_TOKEN", "E2B_SANDBOX_ID", "ABX_OTHER_SANDBOX_API_KEY", "ALIBABA_CLOUD_ACCESS_KEY_ID", "HOME", "e2b_api_key"];
      equal(one(Object.fromEntries(others.map((name) => [name, "x"]))), []);
      equal(one({ E2B_DEBUG: "1" }), [["suspicious_value", "E2B_DEBUG", undefined]]);
      equal(one({ E2B_VALIDATE_API_KEY: "0" }), [["suspicious_value", "E2B_VALIDATE_API_KEY", undefined]]);
      equal(one({ E2B_API_KEY: "k\n" }), [["suspicious_value", "E2B_API_KEY", undefined]]);
      equal(one({ E2B_DEBUG: "true", E2B_DOMAIN: "d.test" }), [["suspicious_value", "E2B_DOMAIN", undefined]]);
      equal(one({ ABX_SANDBOX_BASE_URL: "https://x.test" }), [["suspicious_value", "ABX_SANDBOX_BASE_URL", undefined]]);
      equal(one({ ABX_LOG_LEVEL: "loud", ABX_HTTP_TIMEOUT: "0.5" }).map(([code, name]) => [code, name]), [["unusable_value", "ABX_LOG_LEVEL"], ["unusable_value", undefined]]);
    },
  },
  {
    name: "config: settings are checked where they are used, and tables and consoles show no secrets",
    async run({ sdk, config: { explainConfig, loadConfig, loadSettings } }) {
      const { message } = await thrown(sdk.InvalidArgumentError, () => loadSettings({ ABX_HTTP_TIMEOUT: "0.5" }));
      assert(message.includes("ABX_HTTP_TIMEOUT of the environment must be 1 or more"), message);
      equal(loadConfig({ ABX_HTTP_TIMEOUT: "0.5" }), { environment: {} });
      const secrets = { E2B_API_KEY: KEY_OF_E2B, E2B_ACCESS_TOKEN: "hunter2", GITHUB_TOKEN: "hunter2", ALICLOUD_ACCESS_KEY_SECRET: "hunter2", ABX_MCP_AUTH_TOKEN: "hunter2" };
      const explained = explainConfig(secrets);
      equal(explained.options[0].value, "e2b_… (44 characters)");
      const shown = [String(explained), JSON.stringify(explained)];
      const config = loadConfig(secrets);
      const custom = config[Symbol.for("nodejs.util.inspect.custom")]();
      for (const text of [...shown, JSON.stringify(custom)]) assert(!text.includes("hunter2") && !text.includes(KEY_OF_E2B), text);
      equal(custom.apiKey, "e2b_… (44 characters)");
      equal(Object.getOwnPropertySymbols({ ...config }), []);
      equal(loadSettings(secrets).githubToken, "hunter2");
    },
  },
  {
    name: "config: an access key signs only when that is asked for",
    async run({ sdk, config: { explainConfig, loadConfig } }) {
      const env = { ALICLOUD_ACCESS_KEY_ID: "id", ALICLOUD_ACCESS_KEY_SECRET: "hunter2", E2B_API_KEY: "k" };
      equal(loadConfig(env), { apiKey: "k", environment: {} });
      if (isPage) return void (await thrown(sdk.InvalidArgumentError, () => loadConfig(env, { signWithAccessKey: true }), "access_key_in_page"));
      const config = loadConfig(env, { signWithAccessKey: true });
      equal([config.auth, config.apiKey, config.domain], [{ accessKeyId: "id", accessKeySecret: "hunter2" }, undefined, "cn-hangzhou.e2b.fc.aliyuncs.com"]);
      assert(!String(explainConfig(env, { signWithAccessKey: true })).includes("hunter2"), "no secret");
      for (const missing of ["ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET"]) {
        const error = await thrown(sdk.InvalidArgumentError, () => loadConfig({ ...env, [missing]: " " }, { signWithAccessKey: true }));
        assert(error.message.includes(`needs ${missing}, which is not set`), error.message);
      }
      const auth = () => ({ authorization: "mine" });
      equal(Object.keys(loadConfig(env, { overrides: { auth } })).sort(), ["auth", "environment"]);
    },
  },
];
