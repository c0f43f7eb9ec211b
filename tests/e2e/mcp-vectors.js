// The servers that the option `mcp` of `Sandbox.create` may name, against the list of another client. No server is needed.

import { assert, equal } from "./assert.js";
import { ended, started, trailer } from "./context.js";
import { wordsOf } from "./shell-line.js";
import { load, replay } from "./vectors.js";

/** A value of each type that settings have; texts with everything that a shell would take for its own. */
const VALUES = { string: `it's "$HOME" \`id\` \\ é`, integer: 7, number: 1.5, boolean: true, "string[]": ["a b", "c'd"], object: {} };

const settingsOf = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "_type").map(([name, { type }]) => [name, VALUES[type]]));

/** A control plane and a daemon that note what they are asked. */
function noting() {
  const noted = {};
  const fetch = async (input, { body }) => {
    const { pathname } = new URL(input);
    const read = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
    if (pathname === "/sandboxes") {
      noted.body = read(body);
      return Response.json({ sandboxID: "i1", templateID: "mcp-gateway", envdVersion: "0.6.5", envdAccessToken: "t" }, { status: 201 });
    }
    assert(pathname === "/process.Process/Start", `an unexpected request of ${pathname}`);
    // Behind the head of its envelope.
    noted.process = read(body.subarray(5)).process;
    return new Response(new Blob([started(), ended(), trailer()]), { headers: { "content-type": "application/connect+json" } });
  };
  return { noted, fetch };
}

export const cases = [
  {
    name: "mcp vectors: the settings of every server reach the control plane and the gateway as they are",
    async run({ sdk }) {
      const { recorded } = await load("mcp-servers");
      const own = { "github/owner/repository": { runCmd: "npx run", installCmd: "npm ci && true", envs: { A: "it's" } } };
      const mcp = { ...Object.fromEntries(Object.entries(recorded.servers).map(([name, fields]) => [name, settingsOf(fields)])), ...own };
      const { noted, fetch } = noting();
      const sandbox = await sdk.Sandbox.create({ apiKey: "k", apiUrl: "https://api.test", encoding: "json", mcp, fetch });
      equal(noted.body.templateID, "mcp-gateway");
      equal(await sandbox.getMcpToken(), noted.process.envs.GATEWAY_ACCESS_TOKEN);
      const [shell, login, flag, line] = [noted.process.cmd, ...noted.process.args];
      equal([shell, login, flag], ["/bin/bash", "-l", "-c"]);
      const [program, option, config, ...rest] = wordsOf(line);
      equal([program, option, rest], ["mcp-gateway", "--config", []]);
      const told = JSON.parse(config);
      const sorted = (settings) => Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));
      await replay("mcp-servers", "servers", async (fields, name) => {
        equal(sorted(told[name]), sorted(settingsOf(fields)), `what the gateway is told of ${name}`);
        return [sorted(noted.body.mcp[name]), sorted(settingsOf(fields))];
      });
      equal([told, noted.body.mcp].map((servers) => Object.keys(servers).length), Array(2).fill(Object.keys(mcp).length));
      for (const name of Object.keys(own)) equal(told[name], own[name], name);
    },
  },
];
