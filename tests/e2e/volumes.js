// Volumes: made, filled from outside, shared by sandboxes, and what goes wrong with each call.

import { assert, equal, rejects, rejectsWith, sleep } from "./assert.js";
import { drain, emptyInEveryFormat, everyKindAndFormat } from "./contents.js";
import { connection, withSandbox } from "./context.js";

const freshName = () => `e2e-${Date.now()}-${Math.random().toString(36).slice(2)}`;

/** Runs `body` with a fresh volume that is deleted afterwards, whatever happens. */
async function withVolume(ctx, body, options = {}) {
  const volume = await ctx.sdk.Volume.create(freshName(), { ...connection(ctx), ...options });
  try {
    return await body(volume);
  } finally {
    await ctx.sdk.Volume.destroy(volume.volumeId, connection(ctx));
  }
}

/** Every call, on a volume that has `/file`. */
const calls = {
  create: ({ Volume }, volume, opts) => Volume.create(freshName(), opts),
  connect: ({ Volume }, volume, opts) => Volume.connect(volume.volumeId, opts),
  "static getInfo": ({ Volume }, volume, opts) => Volume.getInfo(volume.volumeId, opts),
  "static list": ({ Volume }, volume, opts) => Volume.list(opts),
  destroy: ({ Volume }, volume, opts) => Volume.destroy(volume.volumeId, opts),
  list: (_, volume, opts) => volume.list("/", opts),
  makeDir: (_, volume, opts) => volume.makeDir("/new", opts),
  getInfo: (_, volume, opts) => volume.getInfo("/file", opts),
  exists: (_, volume, opts) => volume.exists("/file", opts),
  updateMetadata: (_, volume, opts) => volume.updateMetadata("/file", { mode: 0o600 }, opts),
  remove: (_, volume, opts) => volume.remove("/file", opts),
  readFile: (_, volume, opts) => volume.readFile("/file", opts),
  writeFile: (_, volume, opts) => volume.writeFile("/file", "x", { ...opts, force: true }),
};

/** Runs `check(name, call)` for every call; `call(opts)` makes it. Content calls get no address of the control plane. */
const each = (ctx, check) =>
  withVolume(ctx, async (volume) => {
    await volume.writeFile("/file", "content");
    for (const [name, call] of Object.entries(calls)) {
      const isStatic = name.startsWith("static") || ["create", "connect", "destroy"].includes(name);
      await check(name, (opts) => call(ctx.sdk, volume, isStatic ? { ...connection(ctx), ...opts } : opts));
    }
    equal(await volume.readFile("/file"), "content", "the file after all that");
  });

export const cases = [
  {
    name: "volumes: create, list, getInfo, connect, destroy",
    async run(ctx) {
      const { Volume } = ctx.sdk;
      const name = freshName();
      const volume = await Volume.create(name, connection(ctx));
      assert(volume instanceof Volume && volume.name === name && volume.token.length > 20, "a volume");
      assert(!JSON.stringify(volume).includes(volume.token), "the token is not printed along");
      assert((await Volume.list(connection(ctx))).some((one) => one.volumeId === volume.volumeId && one.name === name), "listed");
      const info = await Volume.getInfo(volume.volumeId, connection(ctx));
      equal([info.volumeId, info.name], [volume.volumeId, name]);
      await volume.writeFile("/kept", "1");
      const again = await Volume.connect(volume.volumeId, connection(ctx));
      equal(await again.readFile("/kept"), "1");
      equal(await Volume.destroy(volume.volumeId, connection(ctx)), true);
      equal(await Volume.destroy(volume.volumeId, connection(ctx)), false, "a second time");
      await rejects(again.exists("/kept"), ctx.sdk.VolumeNotFoundError, "volume_not_found");
    },
  },
  {
    name: "volumes: sandboxes share them",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        await volume.writeFile("/from-outside", "outside");
        await withSandbox(
          ctx,
          async (one) => {
            equal((await one.getInfo()).volumeMounts, [{ name: volume.name, path: "/mnt/data" }]);
            equal(await one.files.read("/mnt/data/from-outside"), "outside");
            await one.commands.run("mkdir /mnt/data/dir && echo inside > /mnt/data/dir/file");
            await withSandbox(ctx, async (two) => equal(await two.files.read("/data/dir/file"), "inside\n"), {
              volumeMounts: { "/data": volume.name },
            });
          },
          { volumeMounts: { "/mnt/data": volume } },
        );
        equal(await volume.readFile("/dir/file"), "inside\n");
        const [dir] = await volume.list("/");
        equal([dir.path, dir.uid, dir.gid], ["/dir", 1000, 1000]);
        await withSandbox(ctx, async (plain) => equal((await plain.getInfo()).volumeMounts, undefined));
      }),
  },
  {
    name: "volumes: every kind of data in, every format out",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const write = async (name, data) => (await volume.writeFile(`/${name}`, data, { force: true })).size;
        const read = (name, opts) => volume.readFile(`/${name}`, opts);
        await everyKindAndFormat(write, read);
        await emptyInEveryFormat(write, read);
      }),
  },
  {
    name: "volumes: 5 MB there and back, and leaving a stream early",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const size = 5_000_000;
        const data = new Uint8Array(size);
        for (let i = 0, x = 1; i < size; i++) data[i] = x = (x * 31 + i) & 255;
        await volume.writeFile("/big", data);
        for (let i = 0; i < 8; i++) {
          const reader = (await volume.readFile("/big", { format: "stream" })).getReader();
          assert((await reader.read()).value.length > 0, "a first chunk");
          await reader.cancel("enough");
        }
        const back = await volume.readFile("/big", { format: "bytes" });
        equal(back.length, size);
        assert(back.every((value, i) => value === data[i]), "every byte");
      }),
  },
  {
    name: "volumes: makeDir, list, getInfo, exists, updateMetadata, remove",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const { VolumeFileType } = ctx.sdk;
        const made = await volume.makeDir("/a/b", { force: true, mode: 0o700 });
        equal([made.type, made.path, made.name, made.mode], [VolumeFileType.DIRECTORY, "/a/b", "b", 0o700]);
        const name = "/a/ü +&%41?#.txt";
        const file = await volume.writeFile(name, "12345");
        equal([file.type, file.path, file.size, file.mode, file.uid], ["file", name, 5, 0o644, 1000]);
        for (const time of [file.atime, file.mtime, file.ctime]) {
          assert(time instanceof Date && Math.abs(time - Date.now()) < 3_600_000, `${time}`);
        }
        equal((await volume.list("/")).map((entry) => entry.path), ["/a"]);
        equal((await volume.list("/", { depth: 2 })).map((entry) => entry.path), ["/a", "/a/b", name]);
        equal(await volume.exists(name), true);
        equal((await volume.updateMetadata(name, { mode: 0o600 })).mode, 0o600);
        equal((await volume.getInfo(name)).mode, 0o600);
        equal(await volume.readFile(name), "12345");
        equal(await volume.remove("/a"), undefined);
        equal(await volume.exists(name), false);
        equal(await volume.list("/"), []);
      }),
  },
  {
    name: "errors: what volumes refuse has a class and a code",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const { Volume, VolumeError, VolumeNotFoundError, VolumePathNotFoundError, AuthenticationError, SandboxError } = ctx.sdk;
        const api = connection(ctx);
        const taken = await rejects(Volume.create(volume.name, api), VolumeError, "invalid_argument");
        assert(taken.status === 400 && taken.message.includes("already exists") && taken instanceof SandboxError, taken.message);
        await rejects(Volume.create("no spaces", api), VolumeError, "invalid_argument");
        for (const call of [Volume.connect, Volume.getInfo]) {
          await rejects(call("no-such-volume", api), VolumeNotFoundError, "volume_not_found");
        }
        for (const call of [Volume.list, (opts) => Volume.create("x", opts), (opts) => Volume.destroy("x", opts)]) {
          await rejects(call({ ...api, apiKey: `e2b_${"0".repeat(40)}` }), AuthenticationError, "unauthenticated");
        }
        for (const call of [
          () => volume.readFile("/missing"),
          () => volume.readFile("/missing", { format: "stream" }),
          () => volume.getInfo("/missing"),
          () => volume.list("/missing"),
          () => volume.remove("/missing"),
          () => volume.updateMetadata("/missing", { mode: 0o600 }),
          () => volume.writeFile("/missing/file", "x"),
          () => volume.makeDir("/missing/dir"),
        ]) {
          const error = await rejects(call(), VolumePathNotFoundError, "file_not_found");
          assert(error instanceof VolumeError && error.status === 404 && error.message.includes("/missing"), error.message);
        }
        await volume.writeFile("/file", "first");
        const exists = await rejects(volume.writeFile("/file", "second"), VolumeError, "already_exists");
        assert(!exists.retryable, "waiting does not help");
        await rejects(volume.makeDir("/file", { force: true }), VolumeError, "already_exists");
        equal(await volume.readFile("/file"), "first");
        await volume.writeFile("/file", "second", { force: true });
        equal(await volume.readFile("/file"), "second");
        await rejects(volume.readFile("/"), VolumeError, "invalid_argument");
        await rejects(volume.remove("/"), VolumeError, "invalid_argument");
        const refused = await rejects(volume.readFile("/file", { token: "wrong" }), AuthenticationError, "unauthenticated");
        assert(!refused.message.includes(volume.token), refused.message);
        const mounts = { volumeMounts: { "/mnt": "no-such-volume" } };
        const create = await rejects(ctx.sdk.Sandbox.create("base", { ...api, ...mounts }), ctx.sdk.InvalidArgumentError);
        assert(create.message.includes("no-such-volume"), create.message);
      }),
  },
  {
    name: "errors: volumes check their arguments by name, before any request",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const { Volume, InvalidArgumentError, AuthenticationError } = ctx.sdk;
        const fetch = () => Promise.reject(new Error("no request must be made"));
        const api = { ...connection(ctx), fetch };
        for (const [call, named] of [
          [() => Volume.create("", api), "name"],
          [() => Volume.create(5, api), "name"],
          [() => Volume.connect("..", api), "volumeId"],
          [() => Volume.getInfo("", api), "volumeId"],
          [() => Volume.destroy(undefined, api), "volumeId"],
          [() => Volume.list({ ...api, retries: -1 }), "retries"],
          [() => volume.list("", { fetch }), "path"],
          [() => volume.list("/", { fetch, depth: 0 }), "depth"],
          [() => volume.getInfo(undefined, { fetch }), "path"],
          [() => volume.getInfo("/", "options"), "options"],
          [() => volume.exists("/", { fetch, signal: "stop" }), "signal"],
          [() => volume.makeDir("/d", { fetch, mode: "0755" }), "mode"],
          [() => volume.makeDir("/d", { fetch, force: "yes" }), "force"],
          [() => volume.updateMetadata("/d", { uid: 1.5 }, { fetch }), "uid"],
          [() => volume.remove("", { fetch }), "path"],
          [() => volume.readFile("/f", { fetch, format: "json" }), "format"],
          [() => volume.readFile("/f", { fetch, apiUrl: "ftp://x" }), "apiUrl"],
          [() => volume.writeFile("/f", undefined, { fetch }), "data"],
          [() => volume.writeFile("/f", 5, { fetch }), "data"],
        ]) {
          const error = await rejects(call(), InvalidArgumentError, "invalid_argument");
          assert(error.message.includes(named), `"${error.message}" names ${named}`);
        }
        await rejects(volume.list("/", { fetch, token: "" }), AuthenticationError, "unauthenticated");
        await rejects(Volume.list({ ...api, apiKey: "" }), AuthenticationError, "unauthenticated");
      }),
  },
  {
    name: "abort: every call about volumes rejects with the reason, also when fetch ignores the signal",
    run: (ctx) =>
      each(ctx, async (name, call) => {
        const reason = { aborted: name };
        await rejectsWith(call({ signal: AbortSignal.abort(reason) }), reason);
        const controller = new AbortController();
        const fetch = () => new Promise(() => setTimeout(() => controller.abort(reason), 5));
        await rejectsWith(call({ fetch, signal: controller.signal }), reason);
      }),
  },
  {
    name: "clock: every call about volumes has a limit",
    run: (ctx) =>
      each(ctx, (name, call) =>
        rejects(call({ fetch: () => new Promise(() => {}), requestTimeoutMs: 20 }), ctx.sdk.TimeoutError, "request_timeout"),
      ),
  },
  {
    name: "errors: a connection that breaks is a ConnectionError for every call about volumes",
    run: (ctx) =>
      each(ctx, async (name, call) => {
        const failing = () => Promise.reject(new TypeError("Failed to fetch"));
        await rejects(call({ fetch: failing }), ctx.sdk.ConnectionError, "connection_failed");
        const broken = async () => {
          const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError("cut")) });
          return new Response(body, { status: 200, headers: { "content-type": "application/json" } });
        };
        const error = await rejects(call({ fetch: broken }), ctx.sdk.ConnectionError, "connection_lost");
        equal(error.cause?.message, "cut", name);
        // A file may hold anything, and a success without content is one whatever comes along.
        if (["readFile", "destroy", "remove"].includes(name)) return;
        const page = async () => new Response("<html>Log in</html>", { status: 200, headers: { "content-type": "text/html" } });
        await rejects(call({ fetch: page }), ctx.sdk.ProtocolError, "protocol_error");
      }),
  },
  {
    name: "errors: a stream of a volume's file that stops or breaks says so",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const answer = (pull) => async () => new Response(new ReadableStream({ pull }), { status: 200 });
        let sent = false;
        const stalls = answer((controller) => {
          if (sent) return new Promise(() => {});
          sent = true;
          controller.enqueue(new Uint8Array(3));
        });
        const stream = await volume.readFile("/f", { format: "stream", fetch: stalls, streamIdleTimeoutMs: 30 });
        await rejects(drain(stream), ctx.sdk.TimeoutError, "idle_timeout");
        const breaks = answer((controller) => controller.error(new TypeError("cut")));
        await rejects(drain(await volume.readFile("/f", { format: "stream", fetch: breaks })), ctx.sdk.ConnectionError, "connection_lost");
        const reason = new Error("enough");
        const controller = new AbortController();
        const silent = answer(() => new Promise(() => {}));
        const aborted = drain(await volume.readFile("/f", { format: "stream", fetch: silent, signal: controller.signal }));
        await sleep(5);
        controller.abort(reason);
        await rejectsWith(aborted, reason);
      }),
  },
  {
    name: "hooks: calls about volumes are told without ids, paths and tokens, and repeated when the server asks for it",
    run: (ctx) =>
      withVolume(ctx, async (volume) => {
        const told = [];
        let refusals = 1;
        const options = {
          onRequest: ({ method, route, attempt }) => told.push(`${method} ${route} ${attempt}`),
          onResponse: ({ status }) => told.push(status),
          fetch: (...call) => (refusals-- > 0 ? Promise.resolve(new Response("", { status: 429, headers: { "retry-after": "0" } })) : fetch(...call)),
        };
        await volume.writeFile("/secret", "x", options);
        equal(told, ["PUT /volumecontent/{id}/file 1", 429, "PUT /volumecontent/{id}/file 2", 201]);
        told.length = 0;
        await ctx.sdk.Volume.connect(volume.volumeId, { ...connection(ctx), ...options });
        equal(told, ["GET /volumes/{id} 1", 200]);
      }),
  },
  {
    name: "volumes: requests and answers are those of the recordings",
    async run(ctx) {
      const { Volume } = ctx.sdk;
      const recorded = (await import("../vectors/control-plane.json", { with: { type: "json" } })).default;
      const open = (volumeId = "v1", token = "vt") =>
        Volume.connect(volumeId, {
          ...settings,
          fetch: async () => Response.json({ volumeID: volumeId, name: "vol", token }),
        });
      const settings = { apiKey: "k1", apiUrl: "https://api.test" };
      const replays = {
        volume_create: async (opts) => (await Volume.create("vol", opts)).volumeId,
        volume_list: async (opts) => (await Volume.list(opts)).map(({ volumeId, name }) => ({ volume_id: volumeId, name })),
        volume_get_info: async (opts) => {
          const { volumeId, name, token } = await Volume.getInfo("v1", opts);
          return { volume_id: volumeId, name, token };
        },
        volume_get_info_404: (opts) => Volume.getInfo("v404", opts),
        volume_destroy: (opts) => Volume.destroy("v1", opts),
        volume_destroy_404: (opts) => Volume.destroy("v404", opts),
        vol_list: async ({ fetch }) => (await (await open()).list("/a b", { fetch })).map(shown),
        vol_list_depth: async ({ fetch }) => (await (await open()).list("/a", { fetch, depth: 2 })).map(shown),
        vol_make_dir: async ({ fetch }) => shown(await (await open()).makeDir("/d", { fetch, uid: 0, gid: 0, mode: 0o755, force: true })),
        vol_get_info: async ({ fetch }) => shown(await (await open()).getInfo("/f", { fetch })),
        vol_update_metadata: async ({ fetch }) => shown(await (await open()).updateMetadata("/f", { mode: 0o600 }, { fetch })),
        vol_read: async ({ fetch }) => (await open()).readFile("/f", { fetch }),
        vol_read_bytes: async ({ fetch }) => hex(await (await open()).readFile("/f", { fetch, format: "bytes" })),
        vol_read_stream: async ({ fetch }) => [hex(await drain(await (await open()).readFile("/f", { fetch, format: "stream" })))],
        vol_write: async ({ fetch }) => shown(await (await open()).writeFile("/f", "h\u00e9llo", { fetch, uid: 1, force: false })),
        vol_remove: async ({ fetch }) => (await (await open()).remove("/f", { fetch })) ?? null,
        vol_exists_no: async ({ fetch }) => (await open("v404", "t")).exists("/f", { fetch }),
        vol_no_token: async ({ fetch }) => (await open()).list("/", { fetch, token: "" }),
      };
      const classes = { NotFoundException: ctx.sdk.VolumeNotFoundError, AuthenticationException: ctx.sdk.AuthenticationError };
      const volumes = recorded.cases.filter(({ name }) => name.startsWith("vol"));
      equal(volumes.map(({ name }) => name), Object.keys(replays), "the recorded cases");
      for (const { name, requests, result, error } of volumes) {
        const sent = [];
        const fetch = async (input, init) => {
          const { pathname, search } = new URL(input);
          const { response } = requests[sent.length];
          sent.push(request(init.method, pathname + search, Object.entries(init.headers), init.body));
          const body = response.json === undefined ? (response.body_text ?? null) : JSON.stringify(response.json);
          return new Response(body, { status: response.status, headers: response.headers });
        };
        const outcome = replays[name]({ ...settings, fetch });
        if (error === undefined) equal(await outcome, result, name);
        else {
          const raised = await rejects(outcome, classes[error.class]);
          assert(raised.message.includes(error.message_contains ?? ""), `${name}: ${raised.message}`);
        }
        const expected = requests.map(({ method, target, headers, json, body_text }) =>
          request(method, target, headers, body_text ?? (json && new TextEncoder().encode(JSON.stringify(json)))),
        );
        equal(sent, expected, `requests of ${name}`);
      }
    },
  },
];

/** A request in a form that can be compared. */
function request(method, target, headers, body) {
  const text = typeof body === "string" || body === undefined ? body : new TextDecoder().decode(body);
  return { method, target, headers: [...headers].sort(), body: text };
}

/** An entry as the recordings show it. */
function shown({ name, type, path, size, mode, uid, gid, atime, mtime, ctime, target = null }) {
  const time = (date) => date.toISOString().replace(".000Z", "Z");
  return { name, type, path, size, mode, uid, gid, atime: time(atime), mtime: time(mtime), ctime: time(ctime), target };
}

function hex(bytes) {
  return { hex: [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}
