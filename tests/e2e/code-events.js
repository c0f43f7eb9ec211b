// Running code event by event, contexts and charts. The interpreter is played.

import { assert, equal, rejects, rejectsWith, sleep } from "./assert.js";
import { withSandbox } from "./context.js";
import { answered, collect, end, line, openEnded, print, summary, whole } from "./played-interpreter.js";

export const cases = [
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
