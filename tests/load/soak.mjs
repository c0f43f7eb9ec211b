// Many sandboxes and commands at a time, readers that dawdle, clients that vanish, commands and sandboxes that are killed
// in the middle. Every byte of output is checked, and in the end the kernel is asked what was left behind. `cargo xtask
// soak` starts it.

import { mkdtempSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { children, descendants, descriptors, look, startServer } from "./local-server.mjs";
import { Server, events } from "./wire.mjs";

const SECONDS = Number(process.env.SOAK_SECONDS ?? 60);
const SANDBOXES = Number(process.env.SOAK_SANDBOXES ?? 50);
const COMMANDS = Number(process.env.SOAK_COMMANDS ?? 200);
/** A command that takes longer hangs. */
const PATIENCE = 120_000;
/** What ended is gone by then: threads that wait for work do so for 10 s. */
const SETTLING = 20_000;
/** How much larger the server may be after the second half of the load than after the first. */
const GROWTH_KB = 8 * 1024;
/** With a heap for every thread, what is freed in one and needed in another looks like a leak for minutes. */
const ONE_HEAP = { MALLOC_ARENA_MAX: "1" };
const LINES = 200_000;

/** The lines that commands print a part of; no two parts are alike. */
const TEXT = execFileSync("seq", ["0", String(LINES)], { maxBuffer: 1 << 24 });
const STARTS = [0];
for (let at = TEXT.indexOf(10); at >= 0; at = TEXT.indexOf(10, at + 1)) STARTS.push(at + 1);

const folder = mkdtempSync(path.join(tmpdir(), "agent-sandbox-soak-"));
const log = path.join(folder, "server.log");
const facts = await startServer({ log, options: ["--max-sandboxes", String(SANDBOXES * 2)], env: ONE_HEAP });
const server = new Server(facts);
const tally = { commands: 0, bytes: 0, vanished: 0, killed: 0, sandboxes: 0, failures: [] };

/** Compares output with what must come, as it comes. */
class Expected {
  constructor(first, last) {
    this.rest = TEXT.subarray(STARTS[first], STARTS[last + 1]);
  }

  accept(output) {
    if (output.length > this.rest.length || !output.equals(this.rest.subarray(0, output.length))) {
      const wanted = this.rest.subarray(0, 20).toString();
      throw new Error(`output is not what was written: ${output.subarray(0, 20)} instead of ${wanted}`);
    }
    this.rest = this.rest.subarray(output.length);
    tally.bytes += output.length;
  }
}

const random = (below) => Math.floor(Math.random() * below);

function part(lines) {
  const first = random(LINES - lines);
  return { first, last: first + lines - 1, expected: new Expected(first, first + lines - 1) };
}

/** Follows a command to its end; `see` is told what came and may return a promise, which holds the reader up. */
async function follow(response, expected, see = () => {}) {
  let end;
  for await (const event of events(response)) {
    if (event.output) expected.accept(event.output.bytes);
    end = event.end ?? end;
    await see(event);
  }
  if (!end) throw new Error("the stream had no end event");
  return end;
}

function expectEnd(end, expected, status) {
  if (end.status !== status) throw new Error(`ended with ${JSON.stringify(end)} instead of ${status}`);
  if (status === "exit status 0" && expected.rest.length) throw new Error(`${expected.rest.length} bytes are missing`);
}

/** What clients do, and how often. */
const DEEDS = [
  [6, async function whole(sandbox) {
    const { first, last, expected } = part(1 + random(4000));
    const encoding = random(2) ? "json" : "proto";
    const response = await sandbox.start("seq", [String(first), String(last)], { encoding });
    expectEnd(await follow(response, expected), expected, "exit status 0");
  }],
  [2, async function slowly(sandbox) {
    const { first, last, expected } = part(60_000);
    const response = await sandbox.start("seq", [String(first), String(last)], { encoding: "proto" });
    expectEnd(await follow(response, expected, () => sleep(random(30))), expected, "exit status 0");
  }],
  [2, async function vanish(sandbox) {
    const { first, last, expected } = part(100_000);
    const response = await sandbox.start("seq", [String(first), String(last)]);
    for await (const { output } of events(response)) {
      if (output) expected.accept(output.bytes);
      if (output && !random(3)) break;
    }
    response.destroy();
    tally.vanished += 1;
  }],
  [2, async function kill(sandbox) {
    const { first, last, expected } = part(2000);
    const response = await sandbox.start("/bin/sh", ["-c", `seq ${first} ${last}; exec sleep 1000`]);
    let sent;
    const end = await follow(response, expected, ({ pid }) => {
      if (pid) sent = sleep(random(200)).then(() => sandbox.signal(pid, "SIGKILL"));
      // It is looked at below.
      sent?.catch(() => {});
    });
    await sent;
    expectEnd(end, expected, "signal: killed");
    tally.killed += 1;
  }],
  [4, async function nothing(sandbox) {
    const expected = new Expected(0, -1);
    expectEnd(await follow(await sandbox.start("/bin/true"), expected), expected, "exit status 0");
  }],
];
const CHANCES = DEEDS.flatMap(([times, deed]) => Array(times).fill(deed));

/** Does one thing in one sandbox. Whatever goes wrong is a failure, unless the sandbox was killed under it. */
async function perform(slots, deed) {
  const sandbox = slots[random(slots.length)];
  const watchdog = new AbortController();
  const hung = sleep(PATIENCE, undefined, { signal: watchdog.signal }).then(
    () => Promise.reject(new Error(`nothing for ${PATIENCE / 1000} s`)),
    () => {},
  );
  try {
    await Promise.race([deed(sandbox), hung]);
    tally.commands += 1;
  } catch (error) {
    const wrong = /^output is not/.test(error.message);
    if (wrong || !sandbox.killed) tally.failures.push(`${deed.name}: ${error.message}`);
  } finally {
    watchdog.abort();
  }
}

/** Kills a sandbox with all that runs in it, and puts a new one in its place. */
async function replace(slots) {
  const slot = random(slots.length);
  const old = slots[slot];
  if (old.killed) return;
  old.killed = true;
  await old.kill();
  slots[slot] = await server.create();
  tally.sandboxes += 1;
}

async function fill() {
  const slots = await Promise.all(Array.from({ length: SANDBOXES }, () => server.create()));
  tally.sandboxes += slots.length;
  return slots;
}

async function load(slots, until) {
  const clients = Array.from({ length: COMMANDS }, async () => {
    do await perform(slots, CHANCES[random(CHANCES.length)]);
    while (Date.now() < until);
  });
  const replacing = (async () => {
    while (Date.now() < until) {
      await sleep(500);
      await replace(slots);
    }
  })();
  await Promise.all([...clients, replacing]);
}

/** What each sandbox consists of: its first process, the daemon that this one started, and what runs. */
function shapes() {
  const families = children(facts.pid).map(descendants);
  // What gives sandboxes their network runs beside them, and starts nothing.
  const sandboxes = families.filter((family) => family.length > 1);
  return sandboxes.map(([, daemon, ...rest]) => ({ processes: rest.length, descriptors: total(descriptors(daemon)) }));
}

const total = (kinds) => [...kinds.values()].reduce((sum, count) => sum + count, 0);

const checks = { passed: 0, failed: 0 };

/** Waits until `look` finds nothing to complain about. */
async function check(name, look) {
  const end = Date.now() + SETTLING;
  let complaint = look();
  while (complaint && Date.now() < end) {
    await sleep(200);
    complaint = look();
  }
  checks[complaint ? "failed" : "passed"] += 1;
  console.log(complaint ? `  FAILED  ${name}: ${complaint}` : `  ok      ${name}`);
}

const difference = (before, after) => {
  const kinds = [...new Set([...before.keys(), ...after.keys()])];
  const changed = kinds.filter((kind) => (after.get(kind) ?? 0) > (before.get(kind) ?? 0));
  return changed.map((kind) => `${kind}: ${before.get(kind) ?? 0} → ${after.get(kind)}`).join(", ");
};

/** Ends all sandboxes and connections, and says what the server is then. */
async function rest(slots) {
  await Promise.all(slots.map((sandbox) => sandbox.kill()));
  server.close();
  await sleep(500);
  return look(facts.pid);
}

// Two halves of the same load: what is kept for the next time exists already when it is measured first.
const started = Date.now();
let slots = await fill();
const [idle] = shapes();
await load(slots, Date.now() + SECONDS * 500);
const before = await rest(slots);
slots = await fill();
await load(slots, Date.now() + SECONDS * 500);
const took = (Date.now() - started) / 1000;

await check("no output was lost, reordered or made up, and nothing hung", () => tally.failures[0]);
await check("no process is left in a sandbox", () => {
  const worst = Math.max(...shapes().map((shape) => shape.processes));
  return worst > 0 && `${worst} processes`;
});
await check("no descriptor is left in a daemon", () => {
  const worst = Math.max(...shapes().map((shape) => shape.descriptors));
  return worst > idle.descriptors && `${worst} descriptors instead of ${idle.descriptors}`;
});
const after = await rest(slots);
await check("no sandbox is left", () => look(facts.pid).processes && `${look(facts.pid).processes} processes`);
await check("no descriptor is left in the server", () => difference(before.descriptors, look(facts.pid).descriptors));
await check("no thread is left in the server", () => {
  const { threads } = look(facts.pid);
  return threads > before.threads && `${before.threads} → ${threads}`;
});
await check("the server did not grow", () => {
  const growth = look(facts.pid).residentKb - before.residentKb;
  return growth > GROWTH_KB && `${growth} kB more than the ${before.residentKb} kB after the first half`;
});
const status = await facts.stop();
await check("the server ended in good order", () => status !== 0 && `status ${status}; see ${log}`);

console.log(
  `  ${tally.commands} commands in ${took.toFixed(0)} s, ${COMMANDS} at a time in ${SANDBOXES} sandboxes; ` +
    `${(tally.bytes / 1e6).toFixed(0)} MB of output checked; ${tally.vanished} clients vanished, ` +
    `${tally.killed} commands and ${tally.sandboxes - SANDBOXES * 2} sandboxes were killed under load`,
);
console.log(`  server: ${before.residentKb} kB after the first half, ${after.residentKb} kB after the second; ${tally.failures.length} failures`);
for (const failure of tally.failures.slice(0, 10)) console.log(`    ${failure}`);
console.log(`soak: ${checks.passed} passed, ${checks.failed} failed`);
if (checks.failed === 0) rmSync(folder, { recursive: true });
process.exit(checks.failed === 0 ? 0 : 1);
