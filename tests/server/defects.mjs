// What is known to be wrong with the real server, one test for each: what the client does about it, or that it says so. The numbers
// are those of the list in `defects.json`, which names the test of each.

import { readFileSync } from "node:fs";
import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { BASE, TOKEN, all, another, counting, withImage } from "./image.mjs";

const inImage = (body) => (ctx) => withImage(ctx, body);

export const cases = [
  {
    name: "defect 1: a body that is no object is never sent, and a server that hangs up leaves the outcome unknown",
    run: inImage(async ({ sandbox, sdk }) => {
      const { fetch, sent } = counting();
      const client = new sdk.ServerClient(sandbox, { token: TOKEN, fetch });
      for (const args of [null, [], ["x"], "x", 1, false]) await rejects(client.commands.run("greet", args), sdk.InvalidArgumentError, "invalid_argument");
      equal(sent, []);
      const answer = await client.fetch("/commands/greet", { method: "POST", body: "null" }).catch((error) => error);
      // Behind a proxy, hanging up is an answer of the proxy.
      if (answer instanceof Error) equal([answer.name, answer.code, answer.retryable], ["ConnectionError", "outcome_unknown", false]);
      else equal(answer.status, 502);
    }),
  },
  {
    name: "defect 3: a server without a token takes everybody for somebody who may do everything, and discovery says so",
    run: inImage(async (ctx) => {
      const client = await another(ctx, 9100, {});
      const { identity, policy } = await client.discover();
      equal([identity, policy.configured], [{ id: "anonymous", scopes: ["*"] }, false]);
    }),
  },
  {
    name: "defect 4: a name that would be encoded cannot be called, and is refused before it is sent",
    run: inImage(async ({ sandbox, sdk }) => {
      const { fetch, sent } = counting();
      const client = new sdk.ServerClient(sandbox, { token: TOKEN, fetch });
      for (const name of ["odd name", "a/b", "ü", "%41", "", ".."]) await rejects(client.commands.run(name), sdk.InvalidArgumentError, "invalid_argument");
      equal(sent, []);
      const types = sdk.generateCommandTypes(await client.commands.list());
      assert(types.includes("greet(args?: {") && types.includes('// The command "odd name" has a name that cannot be called.'), types);
    }),
  },
  {
    name: "defect 5: bare NaN in an answer is read as the number that it is",
    run: inImage(async ({ client }) => {
      const { when, nan, text } = await client.commands.run("nonjson");
      equal([when, Number.isNaN(nan), text], ["2026-01-02", true, "NaN, Infinity"]);
    }),
  },
  {
    name: "defect 6: what is larger than the server reads is refused here, because the server hangs up before it says so",
    run: inImage(async ({ sandbox, sdk }) => {
      const { fetch, sent } = counting();
      const client = new sdk.ServerClient(sandbox, { token: TOKEN, fetch });
      const error = await rejects(client.files.upload("big", new Uint8Array(8_000_000)), sdk.PayloadTooLargeError, "payload_too_large");
      equal([error.server.limit, sent], [10_485_760, []]);
      await rejects(client.commands.run("greet", { name: "ü".repeat(5_300_000) }), sdk.PayloadTooLargeError, "payload_too_large");
      equal((await client.files.upload("large", new Uint8Array(7_800_000))).size, 7_800_000);
    }),
  },
  {
    name: "defect 7: an empty file is written all the same, where it may be",
    run: inImage(async (ctx) => {
      const { client, sandbox, sdk } = ctx;
      equal(await client.files.upload("new/dir/it's empty", ""), { path: `${BASE}/new/dir/it's empty`, size: 0 });
      equal((await client.files.stat("new/dir/it's empty")).size, 0);
      await client.files.upload("full", "full");
      await client.files.upload("full", new Uint8Array(0));
      equal(await sandbox.files.read(`${BASE}/full`), "");
      await rejects(client.files.upload("/etc/empty", ""), sdk.PathDeniedError, "path_not_allowed");
      await rejects(client.files.upload(`${BASE}/new`, ""), sdk.PathDeniedError, "is_directory");
      const strict = await another(ctx, 9100, { ABX_SERVER_POLICY: JSON.stringify({ version: 1, groups: { process: false } }) });
      await rejects(strict.files.upload("none", ""), sdk.UnsupportedError, "empty_upload");
    }),
  },
  {
    name: "defect 8: a recursive list has no paths, and walking has",
    run: inImage(async ({ client }) => {
      await client.files.upload("t/a/one", "1");
      await client.files.upload("t/b/one", "1");
      const flat = await client.files.list(`${BASE}/t`, { recursive: true });
      equal(flat.some((entry) => "path" in entry), false, "paths that would be guesses");
      equal((await all(client.files.walk(`${BASE}/t`))).map(({ path }) => path).sort(), ["t/a", "t/a/one", "t/b", "t/b/one"].map((path) => `${BASE}/${path}`));
      equal((await all(client.files.walk(`${BASE}/t`, { maxDepth: 1, maxEntries: 1 }))).length, 1);
    }),
  },
  {
    name: "defect 9: output that is no UTF-8 has an error that says what to do, and the stream has it",
    run: inImage(async ({ client, sdk }) => {
      const error = await rejects(client.process.shell(["printf", "\\377"]), sdk.ServerError, "output_not_text");
      assert(error.message.includes("process.run"), error.message);
      equal((await client.process.run(["printf", "\\377\\n"])).stdout, "\ufffd\n");
      equal((await client.process.shell(["printf", "a\\rb\\n"])).stdout, "a\nb\n", "the server rewrites");
      equal((await client.process.run(["printf", "a\\rb\\n"])).stdout, "a\rb\n", "the stream does not");
      await rejects(client.process.shell("sleep 60", { timeoutMs: 300 }), sdk.TimeoutError, "command_timeout");
      const late = await rejects(client.process.run("echo early; sleep 60", { shell: true, timeoutMs: 1000 }), sdk.TimeoutError, "command_timeout");
      equal(late.stdout, "early\n", "what had come");
    }),
  },
  {
    name: "defect 10: an abort does not stop a streamed command, but one in the background is stopped",
    run: inImage(async ({ client, sandbox, sdk }) => {
      const script = (name) => `for i in $(seq 1000); do echo $i; echo $i >> ${BASE}/${name}; sleep 0.05; done`;
      const controller = new AbortController();
      const running = client.process.run(script("a"), { shell: true, timeoutMs: 5000, signal: controller.signal, onStdout: () => controller.abort("enough") });
      await rejectsWith(running, "enough");
      const before = Number((await sandbox.commands.run(`wc -l < ${BASE}/a`)).stdout);
      await eventually(async () => Number((await sandbox.commands.run(`wc -l < ${BASE}/a`)).stdout) > before, "it goes on");

      const started = await client.process.start(`exec sh -c '${script("b")}'`, { shell: true, captureOutput: true });
      for await (const { data } of started) if (data.includes("2")) break;
      await started.kill();
      equal(await started.wait({ pollMs: 20 }), -9);
      await rejects(client.process.run("no-such-program"), sdk.ServerError, "command_not_started");
    }),
  },
  {
    name: "defect 11: processes that were forgotten have an error that says why",
    run: inImage(async ({ client, sdk }) => {
      const first = await client.process.start("true", { captureOutput: true });
      equal(await first.wait({ pollMs: 10 }), 0);
      equal(await all(first.follow()), []);
      await client.process.list();
      for (const ask of [() => first.wait(), () => first.output(), () => first.info(), () => all(first.follow())]) {
        const error = await rejects(ask(), sdk.NotFoundError, "process_not_found");
        assert(error.message.includes("forgets"), error.message);
      }
    }),
  },
  {
    name: "defect 12: captured output is damaged at the server's pieces, and streamed lines are not",
    run: inImage(async ({ client }) => {
      const command = ["python3", "-c", "print('€' * 6000)"];
      const captured = await client.process.start(command, { captureOutput: true });
      const text = (await all(captured.follow())).map(({ data }) => data).join("");
      assert(text.includes("\ufffd"), "the server has mended it: say so no more");
      equal((await client.process.run(command)).stdout, `${"€".repeat(6000)}\n`);
    }),
  },
  {
    name: "defect 14: the address of a terminal is made here, and the server's own is not told",
    run: inImage(async ({ client, sandbox, sdk }) => {
      const session = await client.terminal.create();
      equal(Object.keys(session).sort(), ["pid", "sessionId"]);
      const url = new URL(client.terminal.url(session.sessionId));
      equal([url.protocol, url.host, url.pathname, url.search], ["ws:", sandbox.getHost(9001), "/pty", `?session_id=${session.sessionId}`]);
      await rejects((async () => client.terminal.create({ cols: 70_000 }))(), sdk.InvalidArgumentError, "invalid_argument");
      const started = client.terminal.delete(session.sessionId);
      await started;
      equal(await client.terminal.list(), []);
    }),
  },
  {
    name: "defect 15: the error for an unknown command does not repeat the names of hidden ones",
    run: inImage(async ({ client, sdk }) => {
      const error = await rejects(client.commands.run("zzz"), sdk.CommandNotFoundError, "command_not_found");
      equal(JSON.stringify([error.message, error.server, String(error.cause)]).includes("secret_cmd"), false);
      equal(await client.commands.run("secret_cmd"), "hidden-ok", "it can be run by who knows it");
    }),
  },
  {
    name: "defect 16: a server whose terminal port is taken is healthy, so health says nothing about terminals",
    run: inImage(async (ctx) => {
      const client = await another(ctx, 9100, { ABX_PTY_PORT: "9001" });
      equal(await client.health(), true);
    }),
  },
  {
    name: "defect 18: fractions of seconds are rounded up, so that half a second is not half a minute",
    timeoutMs: 25_000,
    run: inImage(async ({ client, sdk }) => {
      await rejects(client.devTools.runCode("import time; time.sleep(60)", { timeoutMs: 500 }), sdk.TimeoutError, "command_timeout");
    }),
  },
  {
    name: "defect 19: events of agents go on behind the last one, although the server does not read Last-Event-ID",
    run: inImage(async ({ sandbox, sdk }) => {
      let cuts = 0;
      // Each answer ends behind its fifth event, until four have.
      const fetch = async (url, init) => {
        const answer = await globalThis.fetch(url, init);
        if (!new URL(url).pathname.endsWith("/events") || init.method !== "GET" || cuts === 4) return answer;
        cuts += 1;
        let left = 5;
        const cutting = new TransformStream({
          transform(chunk, controller) {
            const blocks = chunk.split("\n\n");
            for (const block of blocks.slice(0, -1)) {
              if (left-- > 0) controller.enqueue(`${block}\n\n`);
              if (left === 0) return controller.terminate();
            }
            return undefined;
          },
        });
        const body = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(whole()).pipeThrough(cutting).pipeThrough(new TextEncoderStream());
        return new Response(body, { status: answer.status, headers: answer.headers });
      };
      const client = new sdk.ServerClient(sandbox, { token: TOKEN, fetch });
      const session = await client.agents.sessions.create({ agent: { name: "quick" }, environment: { type: "self_hosted", workspace_directory: BASE } });
      await client.agents.sessions.send(session.id, { input: "hello" });
      const told = [];
      const events = await all(client.agents.sessions.events(session.id, { after: 0, reconnect: { delayMs: 10 }, onReconnect: ({ attempt, lastEventId }) => told.push([attempt, lastEventId]) }));
      // Several events have one id, and a cut may be between them.
      const uncut = await all(new sdk.ServerClient(sandbox, { token: TOKEN }).agents.sessions.events(session.id, { after: 0 }));
      const named = (all) => all.map(({ event, id, data }) => [event, id, data.event_id]);
      equal(named(events), named(uncut));
      equal([events.at(-1).event, cuts, told.map(([attempt]) => attempt)], ["agent.session.idle", 4, [1, 1, 1, 1]]);
    }),
  },
  {
    name: "defect 20: the token goes into Authorization, and leaves X-Access-Token to whatever guards the port",
    run: inImage(async ({ sandbox, sdk }) => {
      let headers;
      const fetch = (url, init) => ((headers = init.headers), globalThis.fetch(url, init));
      const client = new sdk.ServerClient(sandbox, { token: TOKEN, fetch });
      equal((await client.commands.list()).length, 7);
      equal(["authorization", "x-access-token"].map((name) => headers[name]), [`Bearer ${TOKEN}`, undefined]);
      const guarded = new sdk.ServerClient(sandbox, { token: TOKEN, headers: { "X-Access-Token": "of-the-gateway" } });
      equal((await guarded.commands.list()).length, 7);
    }),
  },
  {
    name: "defects: each has a test, or a reason why there is none",
    async run() {
      const listed = JSON.parse(readFileSync(new URL("defects.json", import.meta.url), "utf8"));
      equal(listed.map(({ defect }) => defect), Array.from({ length: 20 }, (_, index) => index + 1));
      const own = cases.map(({ name }) => /^defect (\d+):/.exec(name)?.[1]).filter(Boolean).map(Number);
      equal(listed.filter(({ elsewhere }) => elsewhere === undefined).map(({ defect }) => defect), own);
      for (const { what, does } of listed) assert(what.endsWith(".") && does.endsWith("."), `${what} ${does}`);
    },
  },
];

/** Events in one piece each, whatever the pieces of the network. */
function whole() {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      rest += chunk;
      const end = rest.lastIndexOf("\n\n");
      if (end < 0) return;
      controller.enqueue(rest.slice(0, end + 2));
      rest = rest.slice(end + 2);
    },
  });
}
