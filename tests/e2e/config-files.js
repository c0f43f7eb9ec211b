// `.env` and TOML files as sources of a configuration. No server is needed.

import { assert, equal, rejects } from "./assert.js";

/** The error of a function that must throw an InvalidArgumentError. */
const thrown = (sdk, call) => rejects((async () => call())(), sdk.InvalidArgumentError, "invalid_argument");

export const cases = [
  {
    name: "config: .env files as people write them",
    async run({ config: { envFile } }) {
      for (const [text, values] of [
        ["", {}],
        ["\n \t\n# only a comment", {}],
        ["A=1", { A: "1" }],
        ["\uFEFFA=1\r\nB=2\rC=3\n", { A: "1", B: "2", C: "3" }],
        ["  export A = some words # a comment\nexport B\nB=a#b #c", { A: "some words", B: "a#b" }],
        ["A=\nB=#c\nC= # c\nD=''", { A: "", B: "", C: "", D: "" }],
        ["A='$B \\n #x' # c\nB=`it's \"so\"`", { A: "$B \\n #x", B: "it's \"so\"" }],
        ['A="a\\nb\\t\\"c\\"\\\\n \\$D \\x ${E}"', { A: 'a\nb\t"c"\\n $D \\x ${E}' }],
        ['A="one\ntwo"\nB=\'three\n\nfour\' #c\nC=5', { A: "one\ntwo", B: "three\n\nfour", C: "5" }],
        ["A=1\nA=2", { A: "2" }],
        ['A=say "hi"\nB=it\'s', { A: 'say "hi"', B: "it's" }],
        ["A=a=b==\n_x.y-z=é😀", { A: "a=b==", "_x.y-z": "é😀" }],
        ["__proto__=1\nconstructor=2", { ["__proto__"]: "1", constructor: "2" }],
      ]) {
        const layer = envFile(text);
        equal(Object.entries(layer.values), Object.entries(values), JSON.stringify(text));
        assert(!JSON.stringify(layer).includes("values"), "values are not printed");
      }
    },
  },
  {
    name: "config: a .env file that is wrong names its line, and quotes nothing",
    async run({ sdk, config: { envFile } }) {
      for (const [text, line] of [
        ["A=1\nhunter2", 2],
        ["hunter2: x", 1],
        ["=hunter2", 1],
        ["\n\n1A=hunter2", 3],
        ["A='x\ny'\nB=\"hunter2\n\n", 3],
        ["A='a\nb' hunter2", 2],
        ['A="a\\"', 1],
        ["export A hunter2", 1],
      ]) {
        const { message } = await thrown(sdk, () => envFile(text, { name: "my.env" }));
        assert(message.startsWith(`Line ${line} of my.env `) && !message.includes("hunter2"), `${JSON.stringify(text)}: ${message}`);
      }
      for (const wrong of [undefined, null, 5, new Uint8Array(1)]) await thrown(sdk, () => envFile(wrong));
      await thrown(sdk, () => envFile("", { name: "" }));
      await thrown(sdk, () => envFile("", { e2b: "yes" }));
    },
  },
  {
    name: "config: a large .env file is read in one go",
    async run({ config: { envFile } }) {
      const text = `${'A="'}${"x\\n".repeat(300_000)}"\n${"# comment\n".repeat(100_000)}${"B=1 \t".padEnd(300_000)}#\n`;
      const { values } = envFile(text);
      equal([values.A.length, values.B], [600_000, "1"]);
    },
  },
  {
    name: "config: a TOML file that is wrong says where, and quotes nothing; tables that are none are named",
    async run({ sdk, config: { toml } }) {
      const { message } = await thrown(sdk, () => toml('[transport]\nregion = "hunter2', { name: "my.toml" }));
      assert(message.includes("my.toml") && message.includes("line 2") && !message.includes("hunter2"), message);
      for (const text of ["a = 1\na = 2", "[core]\n[core]", "x", "\0"]) await thrown(sdk, () => toml(text));
      for (const text of ["transport = 5", "[[core]]", "providers = 1", "[providers]\nalicloud-express = 'x'", "transport = 2020-01-01"]) {
        assert((await thrown(sdk, () => toml(text))).message.includes("table"), text);
      }
      for (const wrong of [undefined, 5, {}]) await thrown(sdk, () => toml(wrong));
      await thrown(sdk, () => toml("", { name: 5 }));
    },
  },
  {
    name: "config: the first source with a usable value counts, setting by setting, and explanations name the place",
    async run({ config: { envFile, explainConfig, loadConfig, toml } }) {
      const sources = [
        { ABX_SANDBOX_DOMAIN: " " },
        envFile("# mine\nABX_SANDBOX_DOMAIN=from.env\nABX_SANDBOX_API_KEY='k'"),
        toml('[transport]\nsandbox_domain = "from.toml"\nsandbox_base_url = "https://from.toml/"\nhttp_timeout = "soon"'),
        { ABX_SANDBOX_BASE_URL: "https://last.test" },
      ];
      const config = loadConfig(sources);
      equal(config, { apiKey: "k", apiUrl: "https://from.toml", domain: "from.env", environment: {} });
      const explained = explainConfig(sources);
      const placeOf = (name) => {
        const { value, layer, source, variable, line } = explained.options.find((entry) => entry.name === name);
        return [value, layer, source, variable, line];
      };
      equal(placeOf("apiKey"), ["… (1 character)", "envFile", ".env", "ABX_SANDBOX_API_KEY", 3]);
      equal(placeOf("domain"), ["from.env", "envFile", ".env", "ABX_SANDBOX_DOMAIN", 2]);
      equal(placeOf("apiUrl"), ["https://from.toml", "toml", "config.toml", "transport.sandbox_base_url", undefined]);
      equal(placeOf("sandboxUrl"), [undefined, "unset", undefined, undefined, undefined]);
      const table = String(explained);
      for (const part of ["ABX_SANDBOX_DOMAIN (.env, line 2)", "transport.sandbox_base_url (config.toml)", "warning: transport.http_timeout of config.toml is passed over: it must be a number"]) {
        assert(table.includes(part), table);
      }
    },
  },
  {
    name: "config: variables of the standard clients in a file count only when they are asked for",
    async run({ config: { envFile, explainConfig, loadConfig } }) {
      const text = "E2B_API_KEY=k\nE2B_API_URL=http://localhost:3210\n";
      equal(loadConfig(envFile(text)), { environment: {} });
      const [warning] = explainConfig(envFile(text)).warnings;
      equal([warning.code, warning.variable], ["ignored", "E2B_API_KEY"]);
      assert(warning.message.includes("e2b: true"), warning.message);
      equal(loadConfig(envFile(text, { e2b: true })), { apiKey: "k", apiUrl: "http://localhost:3210", environment: {} });
      equal(loadConfig(envFile(text).values).apiKey, "k");
      equal(loadConfig([{ E2B_API_KEY: "first" }, envFile(text, { e2b: true })]).apiKey, "first");
    },
  },
  {
    name: "config: secrets in a TOML file do not count, and misplaced or misspelt keys are found",
    async run({ config: { explainConfig, loadConfig, toml } }) {
      const file = toml('[transport]\nsandbox_api_key = "hunter2"\nsandbx_domain = "d"\nprovider = "x"\n[core]\nregion = "cn-beijing"\n[providers.other]\nwhatever = 1');
      equal(loadConfig(file), { environment: {} });
      const { warnings } = explainConfig(file);
      equal(
        warnings.map(({ code, variable, suggestion }) => [code, variable, suggestion]),
        [
          ["ignored", "core.region", undefined],
          ["ignored", "transport.sandbox_api_key", undefined],
          ["unknown_key", "transport.sandbx_domain", "sandbox_domain"],
          ["ignored", "transport.provider", undefined],
        ],
      );
      assert(!JSON.stringify(warnings).includes("hunter2"), "no secret");
    },
  },
];
