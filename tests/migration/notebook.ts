// A notebook runner, as programs of this kind are written for the standard code interpreter client: cells with shared state,
// live output, rich results, charts, errors, and a second context.

import { Sandbox } from "@e2b/code-interpreter";
import type { Context, Execution, ExecutionError, OutputMessage, Result } from "@e2b/code-interpreter";
import { connection, print } from "./settings.js";

interface Cell {
  title: string;
  code: string;
  language?: "python" | "bash" | "javascript";
}

const cells: Cell[] = [
  { title: "state", code: "import math\nradius = 2\nprint('radius', radius)\nradius * math.pi" },
  { title: "uses state", code: "radius += 1\nfor i in range(radius): print(i)" },
  { title: "both streams", code: "import sys\nprint('to out')\nprint('to err', file=sys.stderr)\n'é🦀'" },
  { title: "table", code: "import pandas as pd\npd.DataFrame({'city': ['Köln', 'Oslo'], 'size': [1.08, 0.7]})" },
  {
    title: "chart",
    code: [
      "import matplotlib.pyplot as plt",
      "fig, ax = plt.subplots()",
      "ax.bar(['a', 'b', 'c'], [3, 1, 2])",
      "ax.set_title('Letters')",
      "ax.set_xlabel('letter'); ax.set_ylabel('count')",
      "plt.show()",
    ].join("\n"),
  },
  { title: "json", code: "from IPython.display import JSON, Markdown, display\ndisplay(Markdown('# Title'))\nJSON({'answer': [42, None]})" },
  { title: "failure", code: "def fail():\n    raise ValueError('no such ship')\nprint('before')\nfail()" },
  { title: "syntax", code: "for for" },
  { title: "shell", code: "echo from bash; echo $((6 * 7))", language: "bash" },
];

const strip = (traceback: string) => traceback.replace(/\u001b\[[0-9;]*m/g, "");

function describe(result: Result): string {
  const formats = [...result.formats()].filter((format) => !["text", "chart"].includes(format)).sort();
  const parts = [`[${formats.join(", ")}]`, result.isMainResult ? "main" : "shown"];
  if (result.text !== undefined) parts.push(JSON.stringify(result.text));
  if (result.html !== undefined) parts.push(`${(result.html.match(/<td>/g) ?? []).length} cells`);
  if (result.markdown !== undefined) parts.push(result.markdown);
  if (result.json !== undefined) parts.push(JSON.stringify(result.json));
  if (result.png !== undefined) parts.push(`png ${atob(result.png.trim()).slice(1, 4)}`);
  if (result.chart) {
    const { type, title, elements } = result.chart;
    parts.push(`${type} "${title}" ${JSON.stringify(elements)}`);
  }
  return parts.join(" ");
}

async function runCell(sandbox: Sandbox, cell: Cell, envs: Record<string, string>): Promise<Execution> {
  const live: string[] = [];
  const results: Result[] = [];
  let problem: ExecutionError | undefined;
  const opts = {
    envs,
    timeoutMs: 60_000,
    onStdout: (message: OutputMessage) => void live.push(`out ${message.line}`),
    onStderr: (message: OutputMessage) => void live.push(`err ${message.line}`),
    onResult: (result: Result) => void results.push(result),
    onError: (error: ExecutionError) => void (problem = error),
  };
  const execution = await sandbox.runCode(cell.code, cell.language ? { ...opts, language: cell.language } : opts);
  print(`## ${cell.title}`);
  print(`live: ${JSON.stringify(live.join(""))}`);
  print(`logs: ${JSON.stringify([execution.logs.stdout.join(""), execution.logs.stderr.join("")])}`);
  for (const result of execution.results) print(`result: ${describe(result)}`);
  print(`text: ${execution.text}, callbacks agree: ${results.length === execution.results.length && problem?.name === execution.error?.name}`);
  if (execution.error) {
    const { name, value, traceback } = execution.error;
    print(`error: ${name}: ${value}; traceback names it: ${strip(traceback).includes(name)}`);
  }
  return execution;
}

export async function main(): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: 180_000 });
  try {
    const counts: (number | undefined)[] = [];
    for (const cell of cells) counts.push((await runCell(sandbox, cell, {})).executionCount);
    print(`counted: ${counts.slice(0, 3).every((count, at) => at === 0 || count === (counts[at - 1] ?? 0) + 1)}`);

    const greeting = await sandbox.runCode("import os; os.environ['GREETING']", { envs: { GREETING: "hello" } });
    print(`environment: ${greeting.text}`);

    const context: Context = await sandbox.createCodeContext({ cwd: "/tmp" });
    const there = await sandbox.runCode("import os; print(os.getcwd()); 'radius' in globals()", { context });
    print(`context: ${context.language} ${context.cwd} ${there.logs.stdout.join("").trim()} ${there.text}`);
    const known = await sandbox.listCodeContexts();
    print(`listed: ${known.some(({ id }) => id === context.id)}`);
    await sandbox.runCode("x = 1", { context });
    await sandbox.restartCodeContext(context);
    const fresh = await sandbox.runCode("x", { context });
    print(`restarted: ${fresh.error?.name}`);
    await sandbox.removeCodeContext(context.id);
    print(`removed: ${(await sandbox.listCodeContexts()).every(({ id }) => id !== context.id)}`);

    await sandbox.files.write("/home/user/data.csv", "a,b\n1,2\n3,4\n");
    const csv = await sandbox.runCode("pd.read_csv('/home/user/data.csv')['b'].sum()");
    print(`file and code meet: ${csv.text}`);
    const shell = await sandbox.commands.run("cat data.csv | wc -l");
    print(`command: ${shell.stdout.trim()}`);
    print(`complete: ${Object.keys(JSON.parse(JSON.stringify(csv))).sort().join(" ").includes("logs results")}`);
  } finally {
    await sandbox.kill();
  }
}
