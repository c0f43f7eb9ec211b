// Running code, with the interpreter played by an injected fetch.

import { assert, equal, rejects, rejectsWith, sleep } from "./assert.js";
import { concat, scripted, withSandbox } from "./context.js";

const EXECUTE = "/execute";

const encode = (text) => new TextEncoder().encode(text);
const line = (event) => `${JSON.stringify(event)}\n`;
const end = line({ type: "end_of_execution" });
const print = (text) => line({ type: "stdout", text, timestamp: "2026-01-02T03:04:05.600000+00:00" });

/** Runs `check` with a sandbox whose runs are answered by `chunks`. */
const answered = (ctx, chunks, check, options) =>
  withSandbox(ctx, check, { fetch: scripted(EXECUTE, chunks, { contentType: "application/x-ndjson", ...options }) });

/** Runs `check` with a sandbox whose next run is answered by whatever chunks are given to the second argument. */
function replaying(ctx, check) {
  let chunks = [];
  const fetchNext = (input, init) => scripted(EXECUTE, [...chunks], { contentType: "application/x-ndjson" })(input, init);
  return withSandbox(ctx, (sandbox) => check(sandbox, (next) => void (chunks = next)), { fetch: fetchNext });
}

/** A body that sends `chunks` and then stays open, and what became of it. */
function openEnded(...chunks) {
  const state = { cancelled: false, signal: undefined };
  const answer = (_, { init }) => {
    state.signal = init.signal;
    const body = new ReadableStream({
      start: (controller) => chunks.forEach((chunk) => controller.enqueue(encode(chunk))),
      cancel: () => void (state.cancelled = true),
    });
    return new Response(body);
  };
  // The server is not asked: `base` has no interpreter.
  const fetchOpen = async (input, init) => (new URL(input).pathname === EXECUTE ? answer(null, { init }) : fetch(input, init));
  return { state, fetch: fetchOpen };
}

const collect = async (events) => {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
};

const whole = concat(
  ...[
    line({ type: "number_of_executions", execution_count: 3 }),
    print("é🦀\n"),
    line({ type: "stderr", text: "warn", timestamp: 1735787045000000000 }),
    line({ type: "result", text: "fig", png: "iVBO\n", is_main_result: false, extra: {} }),
    line({ type: "result", text: "42", json: { a: [1, null] }, is_main_result: true, extra: { "a/b": 1 }, later: 1 }),
    line({ type: "keepalive" }),
    line({ type: "from_the_future" }),
    line({ type: "error", name: "ValueError", value: "boom", traceback: "Traceback" }),
    end,
  ].map((text) => encode(text)),
);

const summary = {
  results: [
    { isMainResult: false, text: "fig", png: "iVBO\n" },
    { isMainResult: true, text: "42", json: { a: [1, null] }, extra: { "a/b": 1 } },
  ],
  logs: { stdout: ["é🦀\n"], stderr: ["warn"] },
  error: { name: "ValueError", value: "boom", traceback: "Traceback" },
  executionCount: 3,
};

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
  {
    name: "code: events one by one with for await",
    run: (ctx) =>
      answered(ctx, [whole], async (sandbox) => {
        const run = sandbox.streamCode("1");
        const events = await collect(run);
        equal(
          events.map(({ type, data }) => [type, `${data}`]),
          [
            ["executionCount", "3"],
            ["stdout", "é🦀\n"],
            ["stderr", "warn"],
            ["result", "fig"],
            ["result", "42"],
            ["error", "ValueError: boom"],
          ],
        );
        const execution = await run.result();
        equal(execution, summary);
        assert((await run.result()) === execution && events[4].data === execution.results[1], "the same objects");
        equal(await collect(run), [], "a second iteration");
        equal(await sandbox.streamCode("1").result(), summary, "without an iteration");
      }),
  },
  {
    name: "code: more events than are buffered wait for the loop",
    run: (ctx) =>
      answered(ctx, [print("x").repeat(1000), end], async (sandbox) => {
        const run = sandbox.streamCode("1", { collect: false });
        await sleep(20);
        equal((await collect(run)).length, 1000);
        equal((await sandbox.streamCode("1").result()).logs.stdout.length, 1000, "without an iteration");
      }),
  },
  {
    name: "code: leaving the loop, and cancel, end the run",
    async run(ctx) {
      for (const leave of ["break", "cancel", "dispose", "throw"]) {
        const { state, fetch } = openEnded(print("1"), print("2"));
        await withSandbox(
          ctx,
          async (sandbox) => {
            const run = sandbox.streamCode("1");
            const reason = new Error("mine");
            const loop = (async () => {
              for await (const event of run) {
                equal(event.data.line, "1");
                if (leave === "break") break;
                if (leave === "throw") throw reason;
                if (leave === "cancel") await run.cancel();
                else await run[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
              }
            })();
            if (leave === "throw") await rejectsWith(loop, reason);
            else await loop;
            const error = await rejects(run.result(), ctx.sdk.SandboxError, "disconnected");
            equal(error.execution.logs.stdout[0], "1");
            assert(state.signal.aborted, `the request was cancelled by ${leave}`);
            await run.cancel();
          },
          { fetch },
        );
      }
    },
  },
  {
    name: "code: a stream that fails throws from the loop and from result, and from nowhere else",
    run: (ctx) =>
      answered(ctx, [print("1")], async (sandbox) => {
        const run = sandbox.streamCode("1");
        const error = await rejects(collect(run), ctx.sdk.ConnectionError, "stream_truncated");
        assert((await rejects(run.result(), ctx.sdk.ConnectionError)) === error, "the same error");
        sandbox.streamCode("1");
        await sleep(20);
      }),
  },
  {
    name: "code: calls about contexts",
    async run(ctx) {
      const sent = [];
      const context = { id: "a/b", language: "python", cwd: "/tmp" };
      const answers = { "POST /contexts": context, "GET /contexts": [context, {}, { id: "d" }] };
      const interpreter = async (input, init) => {
        const { pathname } = new URL(input);
        if (!pathname.startsWith("/contexts")) return fetch(input, init);
        const route = `${init.method} ${pathname}`;
        sent.push([route, init.body === undefined ? undefined : JSON.parse(new TextDecoder().decode(init.body))]);
        if (pathname.includes("missing")) return new Response("Context missing not found", { status: 404 });
        return route in answers ? Response.json(answers[route]) : new Response("null");
      };
      await withSandbox(
        ctx,
        async (sandbox) => {
          equal(await sandbox.createCodeContext({ language: "python", cwd: "/tmp" }), context);
          await sandbox.createCodeContext();
          equal(await sandbox.listCodeContexts(), [context, { id: "d", language: "", cwd: "" }]);
          equal(await sandbox.restartCodeContext(context), undefined);
          equal(await sandbox.removeCodeContext("a/b"), undefined);
          equal(sent, [
            ["POST /contexts", { cwd: "/tmp", language: "python" }],
            ["POST /contexts", {}],
            ["GET /contexts", undefined],
            ["POST /contexts/a%2Fb/restart", undefined],
            ["DELETE /contexts/a%2Fb", undefined],
          ]);
          await rejects(sandbox.restartCodeContext("missing"), ctx.sdk.NotFoundError, "not_found");
          await rejects(sandbox.removeCodeContext("missing"), ctx.sdk.NotFoundError, "not_found");
        },
        { fetch: interpreter },
      );
    },
  },
  {
    name: "code: charts of all kinds, and those that lack something",
    async run(ctx) {
      const { ChartType, Result, ScaleType } = ctx.sdk;
      const axes = { title: null, x_label: "x", y_label: null, x_unit: null, y_unit: "s" };
      const ticks = { x_ticks: [0], x_tick_labels: ["0"], y_ticks: [], y_tick_labels: [] };
      const points = [{ label: "l", points: [[0, "a"]] }];
      const box = { label: "b", min: 0, first_quartile: 1, median: 2, third_quartile: 3, max: 4 };
      const pie = { type: "pie", title: "", elements: [{ label: "p", angle: 90, radius: 1 }] };
      const read = (chart) => new Result({ chart }).chart;
      const lineChart = read({ type: "line", ...axes, ...ticks, x_scale: "log", y_scale: "weird", elements: points });
      equal([lineChart.type, lineChart.x_scale, lineChart.y_scale], [ChartType.LINE, ScaleType.LOG, ScaleType.UNKNOWN]);
      equal(read({ type: "scatter", ...axes, ...ticks, elements: points }).x_scale, ScaleType.UNKNOWN);
      equal(read({ type: "bar", ...axes, elements: [{ label: "a", group: "g", value: 1 }] }).elements[0].value, 1);
      equal(read({ type: "box_and_whisker", ...axes, elements: [box] }).elements[0].outliers, []);
      equal(read({ type: "superchart", title: "", elements: [pie] }).elements, [pie]);
      equal(read({ type: "treemap", title: "", elements: [7], more: 1 }), { type: "treemap", title: "", elements: [7], more: 1 });
      equal(read({ type: null, title: "", elements: [] }).type, ChartType.UNKNOWN);
      const wrong = [
        null,
        {},
        [],
        { type: "bar" },
        { type: "pie", elements: [] },
        { type: "line", ...axes, elements: [] },
        { type: "line", ...axes, ...ticks, elements: [{ label: "l", points: [[1]] }] },
        { type: "bar", ...axes, elements: [{ label: "a" }] },
        { type: "superchart", title: "", elements: [{ type: "bar" }] },
        { type: "constructor", title: "" },
      ];
      for (const chart of wrong) equal(read(chart), undefined, JSON.stringify(chart));
      const result = new Result({ text: "", chart: pie, data: {}, extra: {} });
      equal([result.formats(), JSON.parse(JSON.stringify(result)).chart], [["chart"], pie]);
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
