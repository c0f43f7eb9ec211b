// What every case is given, and the set-up that cases share.

/** Runs `body` with a fresh sandbox that is killed afterwards, whatever happens. */
export async function withSandbox(ctx, body, options = {}) {
  const { fetch, encoding, ...rest } = options;
  const sandbox = await ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, encoding, ...rest });
  try {
    return await body(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** The options that lead to the server under test. */
export function connection(ctx) {
  return { apiKey: ctx.apiKey, apiUrl: ctx.apiUrl };
}

/**
 * A `fetch` whose answers to matching requests are changed by `change(response, request)`; all others pass.
 * `match` is a part of the path.
 */
export function faulty(match, change) {
  return async (input, init) => {
    const response = await fetch(input, init);
    return new URL(input).pathname.includes(match) ? change(response, { input, init }) : response;
  };
}

/**
 * Runs `body` with a lane of the fault proxy: `lane.url` leads to the server under test, and what `lane.rules([...])` says
 * happens on the way (`../harness/fault-proxy.mjs` lists the faults). `rules` answers how often the former ones were used.
 */
export async function withLane(ctx, body) {
  const post = async (path, value) => {
    const response = await fetch(`${ctx.faultsUrl}${path}`, { method: "POST", body: JSON.stringify(value) });
    if (!response.ok) throw new Error(`the fault proxy answered ${response.status}`);
    return response.json();
  };
  const { port } = await post("/lanes", {});
  try {
    return await body({ url: `http://localhost:${port}`, rules: async (rules) => (await post(`/lanes/${port}/rules`, rules)).used });
  } finally {
    await post(`/lanes/${port}/close`, {});
  }
}

/** A `fetch` that answers matching requests with a stream of exactly `chunks`, without asking the server. */
export function scripted(match, chunks, { status = 200, contentType = "application/connect+json" } = {}) {
  return async (input, init) => {
    if (!new URL(input).pathname.includes(match)) return fetch(input, init);
    const parts = chunks.map((chunk) => (typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk));
    const body = new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    });
    return new Response(body, { status, headers: { "content-type": contentType } });
  };
}

/** One Connect envelope around the JSON of `message`. Flag 2 marks the end of the stream. */
export function envelope(message, flags = 0) {
  const payload = new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message));
  const frame = new Uint8Array(5 + payload.length);
  frame[0] = flags;
  new DataView(frame.buffer).setUint32(1, payload.length);
  frame.set(payload, 5);
  return frame;
}

export const started = (pid = 4242) => envelope({ event: { start: { pid } } });
export const stdout = (bytes) => envelope({ event: { data: { stdout: btoa(String.fromCharCode(...bytes)) } } });
export const ended = (exitCode = 0) =>
  envelope({ event: { end: { exitCode, exited: true, status: `exit status ${exitCode}` } } });
export const trailer = (error) => envelope(error ? { error } : {}, 2);

/** The bytes of all parts after another. */
export function concat(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
