// Running code: what an answer becomes, what is sent, and how a run ends. The interpreter is played.

import { assert, equal, rejects, rejectsWith, sleep } from "./assert.js";
import { scripted, withSandbox } from "./context.js";
import { EXECUTE, answered, collect, encode, end, line, openEnded, print, replaying, summary, whole } from "./played-interpreter.js";

export const cases = [
  {
    name: "code: an execution holds everything, as instances of exported classes",
    run: (ctx) =>
      answered(ctx, [whole], async (sandbox) => {
        const { Execution, ExecutionError, OutputMessage, Result } = ctx.sdk;
        const seen = [];
        const execution = await sandbox.runCode("1", {
          onStdout: (message) => void seen.push(message),
          onStderr: (message) => void seen.push(message),
          onResult: (result) => void seen.push(result),
          onError: (error) => void seen.push(error),
        });
        assert(execution instanceof Execution, "an Execution");
        equal(execution, summary);
        equal(execution.text, "42");
        const [out, err, figure, main, error] = seen;
        assert(out instanceof OutputMessage && err instanceof OutputMessage, "OutputMessages");
        assert(figure === execution.results[0] && main instanceof Result, "the same Results");
        assert(error === execution.error && error instanceof ExecutionError, "the same ExecutionError");
        equal([`${out}`, out.line, out.error, err.error], ["é🦀\n", "é🦀\n", false, true]);
        equal(out.time.toISOString(), "2026-01-02T03:04:05.600Z", "the time of the server");
        equal(err.timestamp, 1735787045000000000, "nanoseconds");
        equal([`${error}`, `${main}`], ["ValueError: boom", "42"]);
        equal([figure.formats(), main.formats()], [["text", "png"], ["text", "json", "a/b"]]);
        equal(figure.toBlob("png").size, 3, "base64 with a line feed");
        equal(figure.toBlob("pdf"), undefined);
        equal(main.raw, { text: "42", json: { a: [1, null] }, extra: { "a/b": 1 }, later: 1 });
      }),
  },
  {
    name: "code: an answer may be split at any byte",
    timeoutMs: 120_000,
    run: (ctx) =>
      replaying(ctx, async (sandbox, answer) => {
        answer([...whole].map((byte) => Uint8Array.of(byte)));
        equal(await sandbox.runCode("1"), summary, "byte by byte");
        for (let at = 1; at < whole.length; at++) {
          answer([whole.slice(0, at), whole.slice(at)]);
          equal(await sandbox.runCode("1"), summary, `split at ${at}`);
        }
      }),
  },
  {
    name: "code: a last line without a line feed, blank lines and CR LF are understood",
    run: (ctx) =>
      answered(ctx, [`\r\n\n${print("a\u2028b").replace("\n", "\r\n")} \n`, end.trimEnd()], async (sandbox) => {
        equal((await sandbox.runCode("")).logs.stdout, ["a\u2028b"]);
      }),
  },
  {
    name: "code: recorded runs of a real server are read in full",
    timeoutMs: 120_000,
    run: (ctx) =>
      replaying(ctx, async (sandbox, answer) => {
        const recorded = (await import("../vectors/interpreter-live.json", { with: { type: "json" } })).default;
        let runs = 0;
        for (const { name, requests } of [...recorded.examples, ...recorded.checks]) {
          for (const exchange of requests) {
            const chunks = exchange.response.body_chunks;
            if (exchange.target !== EXECUTE || chunks === undefined) continue;
            answer(chunks);
            runs += 1;
            if (exchange.cut || exchange.closed_by_client) {
              const error = await rejects(sandbox.runCode("1"), ctx.sdk.ConnectionError, "stream_truncated");
              same(error.execution, chunks, name);
            } else {
              same(await sandbox.runCode("1"), chunks, name);
            }
          }
        }
        assert(runs > 100, `only ${runs} runs`);
      }),
  },
  {
    name: "code: a cut answer rejects and carries what arrived",
    timeoutMs: 120_000,
    run: (ctx) =>
      replaying(ctx, async (sandbox, answer) => {
        const complete = whole.length - 1;
        const lineEnds = [...whole.keys()].filter((at) => whole[at] === 10);
        for (let cut = 0; cut < complete; cut += 7) {
          answer([whole.slice(0, cut)]);
          const error = await rejects(sandbox.runCode("1"), ctx.sdk.ConnectionError, "stream_truncated");
          if (cut > lineEnds[1]) equal(error.execution.logs.stdout, ["é🦀\n"], `cut at ${cut}`);
          equal(error.execution.error !== undefined, cut >= lineEnds[7], `error at ${cut}`);
        }
        answer([whole.slice(0, complete)]);
        equal(await sandbox.runCode("1"), summary);
      }),
  },
  {
    name: "code: a connection that breaks is a ConnectionError that carries what arrived",
    run(ctx) {
      const chunks = [print("a")];
      const body = () =>
        new ReadableStream({
          pull(controller) {
            const chunk = chunks.shift();
            if (chunk === undefined) controller.error(new TypeError("network error"));
            else controller.enqueue(encode(chunk));
          },
        });
      const broken = async (input, init) => (new URL(input).pathname === EXECUTE ? new Response(body()) : fetch(input, init));
      return withSandbox(
        ctx,
        async (sandbox) => {
          const error = await rejects(sandbox.runCode("1"), ctx.sdk.ConnectionError, "connection_lost");
          equal(error.execution.logs.stdout, ["a"]);
          equal(error.cause?.message, "network error");
        },
        { fetch: broken },
      );
    },
  },
  ...[1, 20, 50].map((megabytes) => ({
    name: `code: one result of ${megabytes} MB`,
    timeoutMs: 120_000,
    run(ctx) {
      const chunk = encode("A".repeat(1 << 16));
      const head = encode('{"type":"result","is_main_result":true,"text":"image","png":"');
      const chunks = [head, ...Array.from({ length: megabytes * 16 }, () => chunk), encode('"}\n'), end];
      return answered(ctx, chunks, async (sandbox) => {
        const execution = await sandbox.runCode("1");
        equal(execution.text, "image");
        equal(execution.results[0].png.length, megabytes << 20);
      });
    },
  })),
  {
    name: "code: an event beyond maxEventBytes is refused before it is complete",
    run(ctx) {
      const { state, fetch } = openEnded(print("a"), "x".repeat(5000));
      return withSandbox(
        ctx,
        async (sandbox) => {
          const error = await rejects(sandbox.runCode("1", { maxEventBytes: 4096 }), ctx.sdk.ProtocolError, "message_too_large");
          equal(error.execution.logs.stdout, ["a"]);
          assert(state.cancelled || state.signal.aborted, "the body was left");
        },
        { fetch },
      );
    },
  },
  {
    name: "code: with collect false only callbacks have output and results",
    run: (ctx) =>
      answered(ctx, [whole], async (sandbox) => {
        const seen = [];
        const execution = await sandbox.runCode("1", { collect: false, onStdout: ({ line }) => void seen.push(line) });
        equal(execution, { ...summary, results: [], logs: { stdout: [], stderr: [] } });
        equal(seen, ["é🦀\n"]);
      }),
  },
  {
    name: "code: callbacks are awaited in order",
    run: (ctx) =>
      answered(ctx, [print("1"), print("2"), whole], async (sandbox) => {
        const order = [];
        const slow = async ({ line }) => {
          order.push(`+${line.trim()}`);
          await sleep(5);
          order.push(`-${line.trim()}`);
        };
        const seen = (name) => () => void order.push(name);
        await sandbox.runCode("1", { onStdout: slow, onStderr: slow, onResult: seen("result"), onError: seen("error") });
        equal(order, ["+1", "-1", "+2", "-2", "+é🦀", "-é🦀", "+warn", "-warn", "result", "result", "error"]);
      }),
  },
  ...["throws", "rejects"].map((how) => ({
    name: `code: a callback that ${how} ends the run and cancels the request`,
    async run(ctx) {
      const { state, fetch } = openEnded(print("1"), print("2"));
      const reason = new Error("mine");
      let calls = 0;
      const onStdout = () => {
        calls += 1;
        if (how === "throws") throw reason;
        return Promise.reject(reason);
      };
      await withSandbox(
        ctx,
        async (sandbox) => {
          await rejectsWith(sandbox.runCode("1", { onStdout }), reason);
          equal(calls, 1);
          assert(state.signal.aborted && state.cancelled, "the request was cancelled");
        },
        { fetch },
      );
    },
  })),
  {
    name: "code: abort cancels the request and rejects with the reason",
    async run(ctx) {
      const { state, fetch } = openEnded(print("1"));
      await withSandbox(
        ctx,
        async (sandbox) => {
          const reason = new Error("leave");
          const controller = new AbortController();
          const late = [];
          const onStdout = ({ line }) => {
            late.push(line);
            setTimeout(() => controller.abort(reason), 1);
          };
          await rejectsWith(sandbox.runCode("1", { signal: controller.signal, onStdout }), reason);
          assert(state.signal.aborted && state.cancelled, "the request was cancelled");
          equal(late, ["1"]);
          await rejectsWith(sandbox.runCode("1", { signal: controller.signal }), reason);
          await rejectsWith(sandbox.listCodeContexts({ signal: controller.signal }), reason);
          await rejectsWith(sandbox.streamCode("1", { signal: controller.signal }).result(), reason);
        },
        { fetch },
      );
    },
  },
  {
    name: "code: timeoutMs interrupts, and the error carries what arrived",
    async run(ctx) {
      const { state, fetch } = openEnded(print("1"));
      await withSandbox(
        ctx,
        async (sandbox) => {
          const error = await rejects(sandbox.runCode("1", { timeoutMs: 30 }), ctx.sdk.TimeoutError, "execution_timeout");
          equal(error.execution.logs.stdout, ["1"]);
          assert(state.signal.aborted, "the request was cancelled");
        },
        { fetch },
      );
      const silent = async (input, init) => (new URL(input).pathname === EXECUTE ? new Promise(() => {}) : fetch(input, init));
      await withSandbox(
        ctx,
        (sandbox) => rejects(sandbox.runCode("1", { requestTimeoutMs: 30 }), ctx.sdk.TimeoutError, "request_timeout"),
        { fetch: silent },
      );
    },
  },
  {
    name: "code: what is sent",
    async run(ctx) {
      const sent = [];
      const recording = async (input, init) => {
        if (new URL(input).pathname !== EXECUTE) return fetch(input, init);
        const text = init.body === undefined ? undefined : new TextDecoder().decode(init.body);
        sent.push({ input, init, body: JSON.parse(text) });
        return new Response(end);
      };
      await withSandbox(
        ctx,
        async (sandbox) => {
          const nothing = { code: "", context_id: null, env_vars: null, language: null };
          await sandbox.runCode("", { language: undefined });
          await sandbox.runCode("print('é\u2028')", { language: "r", envs: { A: "1", B: undefined } });
          await sandbox.runCode("", { context: { id: "c", language: "python", cwd: "/" } });
          await sandbox.runCode("", { context: "c" });
          equal(
            sent.map(({ body }) => body),
            [
              nothing,
              { ...nothing, code: "print('é\u2028')", language: "r", env_vars: { A: "1" } },
              { ...nothing, context_id: "c" },
              { ...nothing, context_id: "c" },
            ],
          );
          for (const { input, init } of sent) {
            equal(init.method, "POST");
            assert(!("keepalive" in init), "keepalive limits bodies to 64 KiB");
            assert(init.headers["x-access-token"]?.length > 0, "the access token");
            const port = init.headers["e2b-sandbox-port"] ?? /^https?:\/\/(\d+)-/.exec(input)?.[1];
            equal(port, "49999", "port");
          }
        },
        { fetch: recording },
      );
    },
  },
  {
    name: "errors: arguments of runCode are checked before anything is sent",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const { InvalidArgumentError } = ctx.sdk;
          const wrong = [
            [undefined],
            [7],
            ["1", { language: "python", context: "c" }],
            ["1", { context: "" }],
            ["1", { context: {} }],
            ["1", { context: 7 }],
            ["1", { onStdout: "print" }],
            ["1", { envs: { A: 1 } }],
            ["1", { timeoutMs: -1 }],
            ["1", { maxEventBytes: 0 }],
            ["1", { signal: {} }],
            ["1", "python"],
          ];
          for (const args of wrong) {
            await rejects(sandbox.runCode(...args), InvalidArgumentError, "invalid_argument");
            await rejects((async () => sandbox.streamCode(...args))(), InvalidArgumentError, "invalid_argument");
          }
          for (const id of ["", ".", "..", undefined, {}]) {
            await rejects(sandbox.removeCodeContext(id), InvalidArgumentError);
            await rejects(sandbox.restartCodeContext(id), InvalidArgumentError);
          }
        },
        { fetch: scripted(EXECUTE, ["sent"], { status: 500 }) },
      ),
  },
  {
    name: "errors: what refusals of the interpreter become",
    async run(ctx) {
      const { sdk } = ctx;
      const proxy = (port) => JSON.stringify({ sandboxId: "sbx", message: "The sandbox …", code: 502, port });
      const table = [
        [400, "Only one of context_id or language can be provided", sdk.InvalidArgumentError, "invalid_argument"],
        [401, "", sdk.AuthenticationError, "unauthenticated"],
        [403, "", sdk.SandboxError, "permission_denied"],
        [404, "Context x not found", sdk.NotFoundError, "not_found"],
        [422, '{"detail":[{"loc":["body","code"],"msg":"Field required"}]}', sdk.InvalidArgumentError, "invalid_argument"],
        [429, "slow down", sdk.RateLimitError, "rate_limited"],
        [500, "Failed to create context: no kernel", sdk.SandboxError, "server_error"],
        [502, "<html>", sdk.TimeoutError, "unavailable"],
        [502, proxy(undefined), sdk.TimeoutError, "sandbox_gone"],
        [502, proxy(49999), sdk.ConnectionError, "port_closed"],
        [503, "", sdk.SandboxError, "unavailable"],
        [200, "<html>log in</html>", sdk.ProtocolError, "protocol_error", "text/html"],
        [200, "rubbish\n", sdk.ProtocolError, "protocol_error"],
        [200, '["stdout"]\n', sdk.ProtocolError, "protocol_error"],
        [200, "", sdk.ConnectionError, "stream_truncated"],
        [200, line({ type: "unexpected_end_of_execution" }), sdk.ConnectionError, "stream_truncated"],
      ];
      for (const [status, body, type, code, contentType = "text/plain"] of table) {
        await answered(
          ctx,
          [body],
          async (sandbox) => {
            const error = await rejects(sandbox.runCode("1"), type, code);
            if (status !== 200) equal([error.status, error.message.includes(String(status))], [status, true], error.message);
          },
          { status, contentType },
        );
      }
    },
  },
];

/** Holds an execution against the lines it was made of. */
function same(execution, chunks, name) {
  const events = chunks.map((chunk) => JSON.parse(chunk));
  const of = (type) => events.filter((event) => event.type === type);
  equal(execution.logs.stdout, of("stdout").map(({ text }) => text), `${name}: stdout`);
  equal(execution.logs.stderr, of("stderr").map(({ text }) => text), `${name}: stderr`);
  equal(execution.executionCount, of("number_of_executions")[0]?.execution_count, `${name}: count`);
  const error = of("error").map(({ name, value, traceback }) => ({ name, value, traceback }))[0];
  equal(execution.error, error, `${name}: error`);
  const results = of("result");
  equal(execution.results.length, results.length, `${name}: number of results`);
  for (const [index, { type, is_main_result, ...formats }] of results.entries()) {
    const result = execution.results[index];
    equal([type, result.isMainResult], ["result", is_main_result], name);
    equal(result.raw, formats, `${name}: raw`);
    for (const [format, value] of Object.entries(formats)) {
      const isEmpty = JSON.stringify(value) === "{}";
      equal(result[format], isEmpty ? undefined : value, `${name}: ${format}`);
    }
  }
}
