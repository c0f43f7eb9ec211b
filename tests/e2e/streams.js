// Streams that go wrong: cut anywhere, malformed, or hostile. The server's part is played by an injected fetch.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { concat, ended, envelope, faulty, scripted, started, stdout, trailer, withSandbox } from "./context.js";

const START = "/process.Process/Start";

/** Runs `echo` on a sandbox whose Start is answered by `chunks`. */
const run = (ctx, chunks, options, check) =>
  withSandbox(ctx, (sandbox) => check(sandbox.commands.run("echo", options)), {
    fetch: scripted(START, chunks),
    encoding: "json",
  });

const crab = new TextEncoder().encode("🦀");

export const cases = [
  {
    name: "streams: frames may be split anywhere",
    async run(ctx) {
      const whole = concat(started(), stdout(crab.slice(0, 2)), stdout(crab.slice(2)), ended(), trailer());
      for (const size of [1, 3, 7, whole.length]) {
        const chunks = [];
        for (let at = 0; at < whole.length; at += size) chunks.push(whole.slice(at, at + size));
        await run(ctx, chunks, {}, async (result) => equal((await result).stdout, "🦀", `chunks of ${size}`));
      }
    },
  },
  {
    name: "streams: a body cut at any byte is a typed error that carries what arrived",
    async run(ctx) {
      const parts = [started(), stdout([104, 105]), ended(), trailer()];
      const whole = concat(...parts);
      const afterEnd = concat(...parts.slice(0, 3)).length;
      const afterOutput = concat(...parts.slice(0, 2)).length;
      await withSandbox(ctx, async (sandbox) => {
        for (let cut = 0; cut < afterEnd; cut += 5) {
          const broken = await ctx.sdk.Sandbox.connect(sandbox.sandboxId, {
            apiKey: ctx.apiKey,
            apiUrl: ctx.apiUrl,
            encoding: "json",
            fetch: scripted(START, [whole.slice(0, cut)]),
          });
          const error = await rejects(broken.commands.run("echo"), ctx.sdk.ConnectionError, "stream_truncated");
          if (cut >= afterOutput) equal(error.stdout, "hi", `cut at ${cut}`);
        }
      });
      // Once the exit code is known the result is complete, with or without the end marker.
      await run(ctx, [whole.slice(0, afterEnd)], {}, async (result) => equal((await result).stdout, "hi"));
    },
  },
  {
    name: "streams: malformed answers are ProtocolErrors",
    async run(ctx) {
      const { ProtocolError } = ctx.sdk;
      const bad = {
        "compressed without agreement": [started(), envelope("{}", 1)],
        "unknown flags": [started(), envelope("{}", 64)],
        "no JSON": [started(), envelope("nonsense")],
        "an oversized frame": [started(), new Uint8Array([0, 255, 255, 255, 255])],
        "a trailer that is no JSON": [started(), envelope("<html>", 2)],
        "no start": [stdout([1]), ended(), trailer()],
      };
      for (const [what, chunks] of Object.entries(bad)) {
        await run(ctx, chunks, {}, async (result) => {
          const error = await rejects(result, ProtocolError);
          assert(error.message.length > 10, what);
        });
      }
    },
  },
  {
    name: "streams: a page instead of a stream is a ProtocolError that does not repeat the page",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const error = await rejects(sandbox.commands.run("echo"), ctx.sdk.ProtocolError);
          assert(error.message.length < 600, `message of ${error.message.length} characters`);
        },
        { encoding: "json", fetch: scripted(START, [`<html>${"x".repeat(5000)}</html>`], { contentType: "text/html" }) },
      ),
  },
  {
    name: "streams: an error in the end marker is mapped",
    async run(ctx) {
      const { InvalidArgumentError, SandboxError } = ctx.sdk;
      await run(ctx, [trailer({ code: "invalid_argument", message: "cwd '/x' does not exist" })], {}, (result) =>
        rejects(result, InvalidArgumentError, "invalid_argument"),
      );
      await run(ctx, [started(), stdout([97]), trailer({ code: "internal", message: "broken" })], {}, async (result) => {
        const error = await rejects(result, SandboxError, "server_error");
        equal(error.stdout, "a");
      });
    },
  },
  {
    name: "streams: invalid UTF-8 at the end becomes one U+FFFD",
    run: (ctx) =>
      run(ctx, [started(), stdout([97, 0xf0, 0x9f]), ended(), trailer()], {}, async (result) =>
        equal((await result).stdout, "a\uFFFD"),
      ),
  },
  {
    name: "streams: unknown events and keepalives are ignored",
    run: (ctx) =>
      run(
        ctx,
        [envelope({ event: { keepalive: {} } }), started(), envelope({ event: { later: {} } }), envelope({}), stdout([111, 107]), ended(), trailer()],
        {},
        async (result) => equal((await result).stdout, "ok"),
      ),
  },
  {
    name: "streams: 415 falls back to JSON, once, and is remembered",
    async run(ctx) {
      const types = [];
      const fetchJsonOnly = async (input, init) => {
        const type = init?.headers?.["content-type"];
        if (!new URL(input).pathname.startsWith("/process.")) return fetch(input, init);
        types.push(type);
        return type.includes("proto") ? new Response("", { status: 415 }) : fetch(input, init);
      };
      await withSandbox(
        ctx,
        async (sandbox) => {
          equal((await sandbox.commands.run("echo one")).stdout, "one\n");
          equal((await sandbox.commands.run("echo two")).stdout, "two\n");
          equal(await sandbox.commands.list(), []);
          equal(types, ["application/connect+proto", "application/connect+json", "application/connect+json", "application/json"]);

          // By this sandbox alone, also where others are at the same address, and whoever speaks to it.
          types.length = 0;
          await withSandbox(ctx, async (other) => equal((await other.commands.run("echo three")).stdout, "three\n"), { fetch: fetchNoting(types) });
          equal(types, ["application/connect+proto"]);
          types.length = 0;
          const again = await ctx.sdk.Sandbox.attach(sandbox.toToken(), { fetch: fetchJsonOnly });
          equal((await again.commands.run("echo four")).stdout, "four\n");
          equal(types, ["application/connect+json"]);
        },
        { fetch: fetchJsonOnly },
      );
    },
  },
  {
    name: "clock: a stream whose first message never comes ends after requestTimeoutMs",
    run: (ctx) =>
      withSandbox(
        ctx,
        (sandbox) => rejects(sandbox.commands.run("echo", { requestTimeoutMs: 50 }), ctx.sdk.TimeoutError, "request_timeout"),
        { fetch: faulty(START, () => new Response(new ReadableStream({}), { headers: { "content-type": "application/connect+proto" } })) },
      ),
  },
  {
    name: "clock: a file stream without data ends after streamIdleTimeoutMs",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const stream = await sandbox.files.read("/etc/hostname", { format: "stream", streamIdleTimeoutMs: 50 });
          await rejects(stream.getReader().read(), ctx.sdk.TimeoutError, "idle_timeout");
        },
        { fetch: faulty("/files", () => new Response(new ReadableStream({}))) },
      ),
  },
  {
    name: "abort: a stream that ignores the signal ends all the same, and its body is cancelled",
    async run(ctx) {
      let cancelled;
      const body = () =>
        new ReadableStream({
          start: (controller) => controller.enqueue(concat(started())),
          cancel: (why) => (cancelled = why ?? "cancelled"),
        });
      const reason = new Error("leave");
      const controller = new AbortController();
      await withSandbox(
        ctx,
        async (sandbox) => {
          const handle = await sandbox.commands.run("echo", { background: true, signal: controller.signal });
          controller.abort(reason);
          await rejectsWith(handle.wait(), reason);
          assert(cancelled !== undefined, "the body was cancelled");
        },
        { encoding: "json", fetch: faulty(START, () => new Response(body(), { headers: { "content-type": "application/connect+json" } })) },
      );
    },
  },
];

/** A `fetch` that notes the types of messages to processes. */
function fetchNoting(types) {
  return (input, init) => {
    if (new URL(input).pathname.startsWith("/process.")) types.push(init.headers["content-type"]);
    return fetch(input, init);
  };
}
