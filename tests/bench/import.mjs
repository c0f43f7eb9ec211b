// How long a program waits before it can work: the import, and its first call. In a process of its own.

const { contestant, target } = JSON.parse(process.env.BENCH_CONTESTANT);

const FILES = {
  ours: "../../node_modules/agent-sandbox-web/dist/index.js",
  e2b: "../clients/node/node_modules/e2b/dist/index.js",
  "e2b-code": "../clients/node/node_modules/@e2b/code-interpreter/dist/index.js",
};

const { apiKey, url } = target;
const start = performance.now();
let first;
let imported = start;
if (contestant === "plain") {
  const response = await fetch(`${url}/sandboxes/${target.sandboxId}/connect`, { method: "POST", body: "{}" });
  first = await response.json();
} else {
  const { Sandbox } = await import(FILES[contestant]);
  imported = performance.now();
  first = await Sandbox.connect(target.sandboxId, { apiKey, apiUrl: url, sandboxUrl: url });
}
const called = performance.now();
if ((first.sandboxId ?? first.sandboxID) !== target.sandboxId) throw new Error("the first call failed");
console.log(JSON.stringify({ importMs: imported - start, totalMs: called - start }));
process.exit(0);
