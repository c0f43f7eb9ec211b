// Parts of files, progress and compression, in every runtime's own way of sending.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { drain } from "./contents.js";
import { connection, faulty, withSandbox } from "./context.js";

/** Whether the browser's rules apply, which change how uploads are counted. */
const inPage = typeof location === "object";

const pattern = (size) => Uint8Array.from({ length: size }, (_, i) => (i * 7 + (i >> 8)) & 255);

/** Whether two arrays have the same bytes. Long ones are not shown. */
function same(actual, expected, what) {
  equal(actual.length, expected.length, `length, ${what}`);
  assert(actual.every((value, i) => value === expected[i]), `every byte, ${what}`);
}

function streamOf(...chunks) {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

/** The same sandbox, with other connection options. */
const again = (ctx, sandbox, options) => ctx.sdk.Sandbox.attach({ ...sandbox.toToken(), ...options.token }, options);

/** What is told of a transfer must begin with nothing, grow, and end with everything. */
function checkProgress(events, size, [total] = [size]) {
  assert(events.length >= 2, `${events.length} events`);
  equal([events[0].loaded, events[0].total], [0, total], "first event");
  equal([events.at(-1).loaded, events.at(-1).total], [size, total], "last event");
  for (let i = 1; i < events.length; i++) assert(events[i].loaded >= events[i - 1].loaded, "progress never goes back");
}

export const cases = [
  {
    name: "ranges: counted like slices, in every format",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const data = pattern(1000);
        await sandbox.files.write("/tmp/part", data);
        for (const [start, end] of [[0, 1], [0, 1000], [10, 20], [999, 1000], [990, 5000], [-1], [-300], [-5000], [500], [undefined, 10]]) {
          const range = { start, end };
          equal(await sandbox.files.read("/tmp/part", { format: "bytes", range }), data.slice(start, end), JSON.stringify(range));
        }
        const range = { start: 3, end: 7 };
        equal(await drain(await sandbox.files.read("/tmp/part", { format: "stream", range })), data.slice(3, 7));
        equal((await sandbox.files.read("/tmp/part", { format: "blob", range })).size, 4);
        await sandbox.files.write("/tmp/text", "0123456789");
        equal(await sandbox.files.read("/tmp/text", { range }), "3456");
      }),
  },
  {
    name: "ranges: what is not there is a typed error, but of an empty file nothing is missing",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write([{ path: "/tmp/ten", data: "0123456789" }, { path: "/tmp/none", data: "" }]);
        for (const start of [10, 11, 5000]) {
          const error = await rejects(sandbox.files.read("/tmp/ten", { range: { start } }), ctx.sdk.InvalidArgumentError, "range_not_satisfiable");
          equal(error.status, 416);
        }
        for (const start of [0, -5]) equal(await sandbox.files.read("/tmp/none", { range: { start } }), "", `start ${start}`);
        await rejects(sandbox.files.read("/tmp/none", { range: { start: 1 } }), ctx.sdk.InvalidArgumentError, "range_not_satisfiable");
        await rejects(sandbox.files.read("/tmp/missing", { range: { start: 1 } }), ctx.sdk.FileNotFoundError);
        for (const range of [5, { start: 5, end: 5 }, { start: 5, end: 4 }, { start: -5, end: 2 }, { start: 1.5 }, { start: "0" }, { end: 0 }]) {
          const error = await rejects(sandbox.files.read("/tmp/ten", { range }), ctx.sdk.InvalidArgumentError, "invalid_argument");
          assert(error.message.includes("range"), error.message);
        }
      }),
  },
  {
    name: "ranges: a server that does not know them sends everything, and the part is cut out here",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const data = pattern(200_000);
        await sandbox.files.write("/tmp/part", data);
        const fetchWhole = (input, { headers: { range, ...headers }, ...init }) => fetch(input, { ...init, headers });
        const { files } = await again(ctx, sandbox, { fetch: fetchWhole });
        for (const [start, end] of [[0, 10], [65_530, 131_080], [199_990], [150_000, 900_000]]) {
          same(await files.read("/tmp/part", { format: "bytes", range: { start, end } }), data.slice(start, end), `${start} to ${end}`);
        }
        same(await drain(await files.read("/tmp/part", { format: "stream", range: { start: 5, end: 70_000 } })), data.slice(5, 70_000), "stream");
        await rejects(files.read("/tmp/part", { range: { start: 200_000 } }), ctx.sdk.InvalidArgumentError, "range_not_satisfiable");
        await rejects(files.read("/tmp/part", { range: { start: -10 } }), ctx.sdk.UnsupportedError);

        // The rest of the file is not waited for.
        let cancelled = false;
        const endless = new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(10_000)),
          cancel: () => void (cancelled = true),
        });
        const never = await again(ctx, sandbox, { fetch: faulty("/files", () => new Response(endless)) });
        equal((await never.files.read("/tmp/part", { format: "bytes", range: { start: 15_000, end: 45_000 } })).length, 30_000);
        assert(cancelled, "the answer is cancelled");
      }),
  },
  {
    name: "ranges: another part than asked for is a ProtocolError",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const wrong = () => new Response("0123", { status: 206, headers: { "content-range": "bytes 0-3/10" } });
        const { files } = await again(ctx, sandbox, { fetch: faulty("/files", wrong) });
        await rejects(files.read("/tmp/x", { range: { start: 4, end: 8 } }), ctx.sdk.ProtocolError);
      }),
  },
  {
    name: "progress: downloads tell every piece",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const data = pattern(1_500_000);
        await sandbox.files.write("/tmp/big", data);
        for (const format of ["text", "bytes", "blob", "stream"]) {
          const events = [];
          const content = await sandbox.files.read("/tmp/big", { format, onProgress: (event) => void events.push(event) });
          if (format === "stream") equal((await drain(content)).length, data.length);
          checkProgress(events, data.length);
        }
        const part = [];
        await sandbox.files.read("/tmp/big", { range: { start: -1000 }, onProgress: (event) => void part.push(event) });
        checkProgress(part, 1000);
        const compressed = [];
        await sandbox.files.read("/tmp/big", { gzip: true, onProgress: (event) => void compressed.push(event) });
        equal(compressed.at(-1).loaded, data.length, "bytes of a compressed transfer");
        const nothing = [];
        await sandbox.files.write("/tmp/none", "");
        equal(await sandbox.files.read("/tmp/none", { onProgress: (event) => void nothing.push(event) }), "");
        equal(nothing, [{ loaded: 0, total: 0 }], "an empty file");
      }),
  },
  {
    name: "progress: uploads tell every piece, whatever the data is",
    timeoutMs: 120_000,
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const data = pattern(1_000_000);
        const parts = [data.slice(0, 300_000), data.slice(300_000)];
        const kinds = { view: data, buffer: data.slice().buffer, blob: new Blob(parts), stream: streamOf(...parts), text: "é".repeat(500_000) };
        for (const [kind, value] of Object.entries(kinds)) {
          const events = [];
          await sandbox.files.write(`/tmp/${kind}`, value, { onProgress: (event) => void events.push(event) });
          // The size of a stream is only known where it is collected first.
          checkProgress(events, data.length, kind === "stream" && !inPage ? [] : [data.length]);
          assert(events.every(({ path }) => path === `/tmp/${kind}`), "events name the file");
          if (kind !== "text") same(await sandbox.files.read(`/tmp/${kind}`, { format: "bytes" }), data, kind);
        }
        const many = {};
        const files = [["/tmp/a", 10], ["/tmp/b", 100_000], ["/tmp/c", 0]];
        await sandbox.files.write(
          files.map(([path, size]) => ({ path, data: pattern(size) })),
          { onProgress: ({ path, ...event }) => void (many[path] ??= []).push(event) },
        );
        for (const [path, size] of files) equal(many[path].at(-1), { loaded: size, total: size }, path);
        await sandbox.files.write("/tmp/a", "", { onProgress() {} });
        equal(await sandbox.files.read("/tmp/a"), "");
      }),
  },
  {
    name: "progress: uploads through a fetch of the caller, and to an old sandbox",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let calls = 0;
        const own = (...call) => ((calls += 1), fetch(...call));
        const options = { fetch: own };
        for (const [token, most] of [[{}, 300_000], [{ envdVersion: "0.5.0" }, 301_000]]) {
          const { files } = await again(ctx, sandbox, { ...options, token });
          const events = [];
          await files.write("/tmp/x", pattern(300_000), { onProgress: (event) => void events.push(event) });
          const { total } = events[0];
          assert(total >= 300_000 && total < most + 1, `${total} bytes`);
          checkProgress(events, total);
          same(await files.read("/tmp/x", { format: "bytes" }), pattern(300_000), "what was sent");
        }
        equal(calls, 4, "calls of the caller's fetch");
      }),
  },
  {
    name: "progress: an upload whose token is refused is sent and counted again",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const good = sandbox.toToken();
        const options = { refresh: () => good };
        const { files } = await again(ctx, sandbox, { ...options, token: { envdAccessToken: "wrong" } });
        const events = [];
        const info = await files.write("/tmp/x", pattern(200_000), { onProgress: (event) => void events.push(event) });
        equal([info.path, events.at(-1)], ["/tmp/x", { loaded: 200_000, total: 200_000, path: "/tmp/x" }]);
        same(await files.read("/tmp/x", { format: "bytes" }), pattern(200_000), "what was sent");
      }),
  },
  {
    name: "progress: what the callback throws is what the call rejects with",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { files } = sandbox;
        const data = pattern(1_000_000);
        await files.write("/tmp/x", data);
        const reason = new RangeError("enough");
        const throwing = ({ loaded }) => {
          if (loaded > 0) throw reason;
        };
        await rejectsWith(files.write("/tmp/y", data, { onProgress: throwing }), reason);
        await rejectsWith(files.write("/tmp/y", data, { onProgress: async () => Promise.reject(reason) }), reason);
        await rejectsWith(files.read("/tmp/x", { onProgress: throwing }), reason);
        await rejectsWith(drain(await files.read("/tmp/x", { format: "stream", onProgress: throwing })), reason);
        await rejects(files.read("/tmp/x", { onProgress: 5 }), ctx.sdk.InvalidArgumentError);
        await rejects(files.write("/tmp/x", "", { onProgress: "loud" }), ctx.sdk.InvalidArgumentError);
        equal((await files.read("/tmp/x", { format: "bytes" })).length, data.length, "the next call works");
      }),
  },
  {
    name: "progress: an abort in the middle rejects with the signal's reason",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { files } = sandbox;
        const data = pattern(3_000_000);
        await files.write("/tmp/x", data);
        const reason = { any: "value" };
        const aborting = () => {
          const controller = new AbortController();
          return { signal: controller.signal, onProgress: ({ loaded }) => loaded > 0 && controller.abort(reason) };
        };
        await rejectsWith(files.write("/tmp/y", data, aborting()), reason);
        await rejectsWith(files.read("/tmp/x", aborting()), reason);
        await rejectsWith(files.read("/tmp/x", { range: { start: 5 }, signal: AbortSignal.abort(reason) }), reason);
        equal((await files.read("/tmp/x", { format: "bytes" })).length, data.length, "the next call works");
      }),
  },
  {
    name: "progress: a cut connection is a ConnectionError, and what had arrived was told",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const events = [];
        const onProgress = (event) => void events.push(event);
        const cut = new ReadableStream(
          {
            pull(controller) {
              if (events.at(-1)?.loaded > 0) controller.error(new TypeError("cut"));
              else controller.enqueue(pattern(1000));
            },
          },
          { highWaterMark: 0 },
        );
        const broken = await again(ctx, sandbox, { fetch: faulty("/files", () => new Response(cut, { status: 206, headers: { "content-length": "5000" } })) });
        await rejects(broken.files.read("/tmp/x", { onProgress }), ctx.sdk.ConnectionError, "connection_lost");
        equal(events, [{ loaded: 0, total: 5000 }, { loaded: 1000, total: 5000 }]);
        const refusing = await again(ctx, sandbox, {
          fetch: (input, init) => (String(input).includes("/files") ? Promise.reject(new TypeError("cut")) : fetch(input, init)),
        });
        await rejects(refusing.files.write("/tmp/x", pattern(10), { onProgress() {} }), ctx.sdk.ConnectionError, "connection_failed");
      }),
  },
  {
    name: "gzip: what is sent is compressed where the sandbox can unpack it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const sent = [];
        const watching = async (input, init) => {
          if (String(input).includes("/files") && init.method === "POST") {
            sent.push([init.headers["content-encoding"], init.body.size ?? init.body.byteLength]);
          }
          return fetch(input, init);
        };
        const { files } = await again(ctx, sandbox, { fetch: watching });
        const text = "the same line again and again\n".repeat(20_000);
        for (const data of [text, new TextEncoder().encode(text), new Blob([text]), streamOf(new TextEncoder().encode(text))]) {
          await files.write("/tmp/x", data, { gzip: true, metadata: { kind: "log" } });
          equal((await files.read("/tmp/x")).length, text.length);
        }
        const canCompress = typeof CompressionStream === "function";
        assert(sent.every(([encoding]) => encoding === (canCompress ? "gzip" : undefined)), `encodings ${sent}`);
        assert(!canCompress || sent.slice(0, 3).every(([, size]) => size < text.length / 20), `sizes ${sent}`);
        equal((await files.getInfo("/tmp/x")).metadata, { kind: "log" });
        const old = await again(ctx, sandbox, { fetch: watching, token: { envdVersion: "0.5.6" } });
        await old.files.write("/tmp/x", text, { gzip: true });
        equal(sent.at(-1)[0], undefined, "to an old sandbox");
        for (const gzip of [true, false]) equal((await files.read("/tmp/x", { gzip })).length, text.length);
        const failing = new ReadableStream({ pull: () => Promise.reject(new Error("source")) });
        await rejects(files.write("/tmp/x", failing, { gzip: true }), Error);
        await rejects(files.write("/tmp/x", "", { gzip: "yes" }), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "files: several are written four at a time, and the first failure ends the rest",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let open = 0;
        let most = 0;
        let calls = 0;
        const counting = async (input, init) => {
          calls += 1;
          most = Math.max(most, (open += 1));
          try {
            return await fetch(input, init);
          } finally {
            open -= 1;
          }
        };
        const { files } = await again(ctx, sandbox, { fetch: counting });
        const many = Array.from({ length: 24 }, (_, i) => ({ path: `/tmp/many/${i}`, data: `${i}` }));
        const infos = await files.writeFiles(many);
        equal(infos.map(({ name }) => name), many.map((_, i) => `${i}`));
        equal(most, 4, "at the same time");
        calls = 0;
        await rejects(files.write([{ path: "/tmp", data: "a directory" }, ...many]), ctx.sdk.InvalidArgumentError);
        assert(calls < 15, `${calls} calls`);
      }),
  },
  {
    name: "files: metadata is stored beside a file, and checked before it is sent",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const written = await sandbox.files.write("/tmp/x", "1", { metadata: { color: "red", "x-2": "~ {}" } });
        for (const { metadata } of [written, await sandbox.files.getInfo("/tmp/x")]) {
          equal([metadata.color, metadata["x-2"], Object.keys(metadata).length], ["red", "~ {}", 2]);
        }
        for (const metadata of [{ "a b": "1" }, { "": "1" }, { a: "é" }, { a: "line\nbreak" }, { a: 1 }, "text"]) {
          await rejects(sandbox.files.write("/tmp/x", "2", { metadata }), ctx.sdk.InvalidArgumentError);
        }
        equal(await sandbox.files.read("/tmp/x"), "1", "nothing was sent");
      }),
  },
  {
    name: "errors: files of a killed sandbox, asked for with ranges and progress",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create("base", connection(ctx));
      await sandbox.kill();
      await rejects(sandbox.files.read("/tmp/x", { range: { start: 1 } }), ctx.sdk.TimeoutError, "sandbox_gone");
      await rejects(sandbox.files.write("/tmp/x", pattern(1000), { onProgress() {} }), ctx.sdk.TimeoutError, "sandbox_gone");
    },
  },
];
