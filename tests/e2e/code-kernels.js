// Code on real kernels.

import { assert, equal, eventually, rejects, rejectsWith, withTime } from "./assert.js";
import { connection, faulty } from "./context.js";

const EXECUTE = "/execute";

/** Runs `body` with a sandbox that has kernels. */
async function withKernels(ctx, body) {
  const sandbox = await ctx.sdk.Sandbox.create("code-interpreter-v1", connection(ctx));
  try {
    return await body(sandbox);
  } finally {
    await sandbox.kill();
  }
}

const kernelCase = (name, run) => ({
  name: `kernels: ${name}`,
  timeoutMs: 120_000,
  run: (ctx) => withKernels(ctx, (sandbox) => run(sandbox, ctx)),
});

const CHART = `
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [4, 5, 7], label="up")
plt.title("T")
plt.xlabel("Time (s)")
plt.show()
`;

export const cases = [
  kernelCase("print, value and count", async (sandbox) => {
    const execution = await sandbox.runCode("import sys\nprint('out é🦀')\nprint('err', file=sys.stderr)\n6 * 7");
    equal(execution.error, undefined);
    equal([execution.logs.stdout.join(""), execution.logs.stderr.join("")], ["out é🦀\n", "err\n"]);
    equal([execution.text, execution.executionCount], ["42", 1]);
    equal((await sandbox.runCode("")).executionCount, 2);
  }),
  kernelCase("variables are kept, and envs are those of one run", async (sandbox) => {
    await sandbox.runCode("x = 41");
    equal((await sandbox.runCode("x + 1")).text, "42");
    const read = "import os; os.environ.get('ONCE')";
    equal((await sandbox.runCode(read, { envs: { ONCE: `it's "so"\n\\` } })).text?.includes("so"), true);
    equal((await sandbox.runCode(read)).text, undefined);
  }),
  kernelCase("an exception is an outcome", async (sandbox, ctx) => {
    const errors = [];
    const execution = await sandbox.runCode("1 / 0", { onError: (error) => void errors.push(error) });
    assert(execution.error instanceof ctx.sdk.ExecutionError && errors[0] === execution.error, "an ExecutionError");
    equal([execution.error.name, execution.error.value], ["ZeroDivisionError", "division by zero"]);
    assert(execution.error.traceback.includes("1 / 0"), execution.error.traceback);
  }),
  kernelCase("a plot has an image and its data", async (sandbox, ctx) => {
    const { results, error } = await sandbox.runCode(CHART);
    equal(error, undefined);
    const [figure] = results;
    equal([figure.chart?.type, figure.chart?.title, figure.chart?.x_unit], [ctx.sdk.ChartType.LINE, "T", "s"]);
    equal(figure.chart.elements, [{ label: "up", points: [[1, 4], [2, 5], [3, 7]] }]);
    const bytes = new Uint8Array(await figure.toBlob("png").arrayBuffer());
    equal([...bytes.slice(1, 4)], [80, 78, 71], "the signature of a PNG");
    assert(figure.formats().includes("png") && figure.formats().includes("chart"), figure.formats().join());
  }),
  kernelCase("a DataFrame has its columns", async (sandbox) => {
    const { results } = await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})");
    equal(results[0].data, { a: [1, 2], b: ["x", null] });
    assert(results[0].html.includes("<table"), "a table");
  }),
  kernelCase("JSON values and displays", async (sandbox) => {
    const { results, text } = await sandbox.runCode("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\n{'a': [1, None]}");
    equal([results[0].html, results[0].isMainResult], ["<b>x</b>", false]);
    equal([results[1].json, text], [{ a: [1, null] }, "{'a': [1, None]}"]);
  }),
  kernelCase("output comes while the code runs", async (sandbox) => {
    const types = [];
    for await (const event of sandbox.streamCode("import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.5)\n'done'")) {
      types.push(event.type === "stdout" ? event.data.line : event.type);
    }
    equal(types, ["executionCount", "0\n", "1\n", "2\n", "result"]);
  }),
  kernelCase("contexts are isolated, and run side by side", async (sandbox) => {
    const [one, two] = await Promise.all([
      sandbox.createCodeContext(),
      sandbox.createCodeContext({ language: "python", cwd: "/tmp" }),
    ]);
    equal([one.language, two.cwd, one.id !== two.id], ["python", "/tmp", true]);
    await Promise.all([sandbox.runCode("name = 'one'", { context: one }), sandbox.runCode("name = 'two'", { context: two.id })]);
    const read = "import os; (name, os.getcwd())";
    equal((await sandbox.runCode(read, { context: two })).text, "('two', '/tmp')");
    equal((await sandbox.runCode("name", { context: one })).text, "one");
    equal((await sandbox.runCode("name")).error?.name, "NameError");
    const ids = (await sandbox.listCodeContexts()).map(({ id }) => id);
    assert(ids.includes(one.id) && ids.includes(two.id), ids.join());
  }),
  kernelCase("restart and remove", async (sandbox, ctx) => {
    const context = await sandbox.createCodeContext();
    await sandbox.runCode("x = 1", { context });
    await sandbox.restartCodeContext(context);
    const after = await sandbox.runCode("x", { context });
    equal([after.error?.name, after.executionCount], ["NameError", 1]);
    await sandbox.removeCodeContext(context);
    await rejects(sandbox.runCode("1", { context }), ctx.sdk.NotFoundError, "not_found");
    await rejects(sandbox.removeCodeContext(context), ctx.sdk.NotFoundError, "not_found");
    assert(!(await sandbox.listCodeContexts()).some(({ id }) => id === context.id), "it is listed no more");
  }),
  kernelCase("a restart ends the code that runs", async (sandbox) => {
    const context = await sandbox.createCodeContext();
    const run = sandbox.runCode("import time\nprint('up', flush=True)\ntime.sleep(60)", {
      context,
      onStdout: () => sandbox.restartCodeContext(context),
    });
    equal((await run).error?.name, "UnexpectedEndOfExecution");
  }),
  kernelCase("abort interrupts the kernel, which stays usable", async (sandbox) => {
    const code = `
import time
state = "running"
try:
    # What aborts waits for this line: the interrupt must not come before the try.
    print(state, flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    state = "interrupted"
    raise
`;
    const controller = new AbortController();
    const reason = new Error("enough");
    const run = sandbox.runCode(code, { signal: controller.signal, onStdout: () => controller.abort(reason) });
    await rejectsWith(run, reason);
    await eventually(async () => (await sandbox.runCode("state")).text === "interrupted", "the interrupt");
  }),
  kernelCase("timeoutMs interrupts the kernel, too", async (sandbox, ctx) => {
    // The first run waits for the kernel to start, and the clock goes on meanwhile.
    await sandbox.runCode("");
    const code = "import time\nprint('a', flush=True)\ntime.sleep(60)";
    const limited = (timeoutMs) => rejects(sandbox.runCode(code, { timeoutMs }), ctx.sdk.TimeoutError, "execution_timeout");
    await withTime(limited, ({ execution }) => execution.logs.stdout.join() === "a\n");
    equal((await sandbox.runCode("1 + 1", { timeoutMs: 20_000 })).text, "2");
  }),
  kernelCase("bash", async (sandbox) => {
    const fine = await sandbox.runCode("for i in 1 2; do echo line $i; done", { language: "bash" });
    equal([fine.logs.stdout.join(""), fine.error], ["line 1\nline 2\n", undefined]);
    const failed = await sandbox.runCode("(exit 3)", { language: "bash" });
    equal([failed.error?.name, failed.error?.value], ["", "3"]);
  }),
  kernelCase("javascript", async (sandbox) => {
    const execution = await sandbox.runCode("console.log('hello'); [1, 'two'].length", { language: "javascript" });
    equal([execution.logs.stdout.join(""), execution.text], ["hello\n", "2"]);
    equal((await sandbox.runCode("throw new TypeError('bad')", { language: "js" })).error?.name, "TypeError");
  }),
  kernelCase("a language without a kernel is a typed error", async (sandbox, ctx) => {
    const error = await rejects(sandbox.runCode("1", { language: "cobol" }), ctx.sdk.SandboxError, "server_error");
    assert(error.message.includes("cobol"), error.message);
    await rejects(sandbox.runCode("1", { context: "missing" }), ctx.sdk.NotFoundError, "not_found");
  }),
  kernelCase("an answer that is cut on its way is truncated", async (sandbox, ctx) => {
    const cut = faulty(EXECUTE, async (response) => {
      const lines = (await response.text()).split("\n");
      return new Response(lines.filter((line) => !line.includes("end_of_execution")).join("\n"));
    });
    const broken = await ctx.sdk.Sandbox.connect(sandbox.sandboxId, { ...connection(ctx), fetch: cut });
    const error = await rejects(broken.runCode("print(1)\n2"), ctx.sdk.ConnectionError, "stream_truncated");
    equal([error.execution.logs.stdout, error.execution.text], [["1\n"], "2"]);
  }),
];
