// Terminals over the broker's WebSocket: by an address alone, as stock clients dial it, and by this package.

import { WebSocket } from "ws";

import { assert, equal, eventually, rejects, sleep } from "../e2e/assert.js";
import { readUntil } from "../terminal/scripted.mjs";
import { Visitor, visiting } from "./client.mjs";

/** Hosts that have WebSockets in these tests. */
const WITH_SOCKETS = ["node", "deno", "workerd"];

/** A stock client: it knows an address and nothing else. */
class Stock {
  text = "";
  said = [];

  constructor(url, options) {
    this.socket = new WebSocket(url, options);
    this.socket.binaryType = "arraybuffer";
    const decoder = new TextDecoder();
    this.socket.on("message", (data, isBinary) => {
      if (isBinary) this.text += decoder.decode(data, { stream: true });
      else this.said.push(JSON.parse(String(data)));
    });
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => resolve([code, String(reason)]));
      this.socket.on("unexpected-response", (_request, answer) => resolve([answer.statusCode]));
      this.socket.on("error", () => {});
    });
    this.opened = new Promise((resolve) => this.socket.once("open", resolve));
  }

  async type(text) {
    await this.opened;
    this.socket.send(text);
  }

  async shows(pattern) {
    const hit = () => pattern.test(this.text);
    await eventually(hit, `${pattern}`).catch((error) => {
      throw new Error(`${error.message} in ${JSON.stringify(this.text.slice(-300))}`);
    });
  }
}

const address = async (visitor) => (await visitor.ask("terminal")).url;

/** The pids of the sandbox's shells on terminals. */
async function shells(ctx, visitor) {
  const [{ sandboxId }] = await visitor.sandboxes();
  const sandbox = await ctx.sdk.Sandbox.connect(sandboxId, ctx.connection);
  return (await sandbox.commands.list()).map(({ pid }) => pid);
}

/** The cases of a host: those of WebSockets where it has some, and what it says where it has none or is given no way to them. */
export const casesOf = (place) => [...(WITH_SOCKETS.includes(place) ? bridged : []), ...(place === "workerd" ? [] : missing)];

const bridged = [
  {
    name: "terminal: a stock client gets a shell by one address, without key and session",
    run: visiting("main", async (visitor, ctx) => {
      const token = await visitor.open();
      const answer = await visitor.ask("terminal");
      const rest = new Date(answer.expiresAt) - Date.now();
      assert(rest > 0 && rest <= 60_000, `a minute, and not ${rest} ms`);
      for (const secret of [ctx.connection.apiKey, token.session, token.envdAccessToken]) assert(!answer.url.includes(secret), "no other secret");
      const url = new URL(answer.url);
      equal([url.protocol, url.pathname, [...url.searchParams.keys()]], ["ws:", "/main/terminal", ["token"]]);
      const client = new Stock(`${url}&cols=100&rows=30&cwd=/tmp`);
      await client.type("stty size; pwd; printf '\\342\\202'; printf '\\254.\\n'; echo $TERM\n");
      await client.shows(/30 100\r\n\/tmp\r\n€\.\r\nxterm-256color\r\n/);
      await client.type('{"type":"resize","cols":120,"rows":40}');
      await client.type("clear; stty size\n");
      await client.shows(/40 120\r\n/);
      client.socket.send(Buffer.from("exit 3\n"));
      equal(await client.closed, [4503, "exit 3"]);
      equal(client.said, [], "what was not asked for");
    }),
  },
  {
    name: "terminal: an address is good once, for its time, at its broker, and is no session",
    run: visiting("main", async (visitor) => {
      const { session } = await visitor.open();
      const url = await address(visitor);
      const first = new Stock(url);
      await first.shows(/\$ $/);
      equal(await new Stock(url).closed, [4001, "Unauthorized"], "the second use");
      first.socket.close(1000);
      const token = new URL(url).searchParams.get("token");
      visitor.session = token;
      await visitor.refused("/info", [401, "session_invalid"]);
      await visitor.refused("/terminal", [401, "session_invalid"]);
      visitor.session = session;
      const dial = (path, token) => new Stock(`${visitor.ctx.url.replace("http", "ws")}/${path}/terminal?token=${token}`).closed;
      const next = new URL(await address(visitor)).searchParams.get("token");
      for (const [path, one] of [["main", ""], ["main", session], ["main", `${next}x`], ["main", next.slice(1)], ["elsewhere", next], ["foreign", next], ["ahead", next]]) {
        equal(await dial(path, one), [4001, "Unauthorized"], `${path} ${one.slice(0, 12)}`);
      }
      const brisk = visitor.at("brisk");
      await brisk.open();
      const { url: late, expiresAt } = await brisk.ask("terminal");
      while (Date.now() <= new Date(expiresAt)) await sleep(50);
      equal(await new Stock(late).closed, [4001, "Unauthorized"], "after its time");
    }),
  },
  {
    name: "terminal: only who may run commands gets an address, and only allowed pages dial it",
    run: visiting("main", async (visitor, ctx) => {
      await visitor.refused("/terminal", [401, "session_missing"]);
      const { session } = await visitor.open({ scopes: ["files:read", "files:write", "lifecycle"] });
      await visitor.refused("/terminal", [403, "scope_missing"]);
      const other = new Visitor(ctx, "main");
      other.session = session;
      await other.refused("/terminal", [403, "session_of_another"]);
      await visitor.open();
      const url = await address(visitor);
      for (const origin of ["https://evil.example", "null", "https://app.example.evil.example", "http://app.example"]) {
        equal(await new Stock(url, { origin }).closed, [403], origin);
      }
      const page = new Stock(url, { origin: "https://app.example" });
      await page.shows(/\$ $/);
      page.socket.close(1000);
      await visitor.refused("/terminal", [405, "method_not_allowed"], {});
      equal(await new Stock(`${ctx.url.replace("http", "ws")}/main/port/8000/`, { origin: "https://app.example", headers: { "x-visitor": visitor.name } }).closed, [501], "ports");
    }),
  },
  {
    name: "terminal: wrong parameters and what is not there are told by name",
    run: visiting("main", async (visitor) => {
      await visitor.open();
      for (const [more, code, says] of [
        ["cols=0", 4005, "cols"],
        ["rows=65536", 4005, "rows"],
        ["pid=x", 4005, "pid"],
        ["cwd=/missing", 4005, "/missing"],
        ["user=nobody-here", 4005, "user"],
        ["pid=999999", 4004, "No such terminal"],
      ]) {
        const [given, reason] = await new Stock(`${await address(visitor)}&${more}`).closed;
        assert(given === code && reason.includes(says), `${more}: ${given} ${reason}`);
      }
    }),
  },
  {
    name: "terminal: who leaves ends the shell, who is cut off or detaches finds it again",
    run: visiting("main", async (visitor, ctx) => {
      await visitor.open();
      const client = new Stock(`${await address(visitor)}&events=1`);
      await eventually(() => client.said.length > 0, "the start");
      const { pid } = client.said[0];
      await client.type("kept=here\n");
      await client.shows(/kept=here\r\n/);
      client.socket.terminate();
      const again = new Stock(`${await address(visitor)}&pid=${pid}&own=1`);
      await again.type('echo "<$kept>"\n');
      await again.shows(/\r<here>\r\n/);
      again.socket.close(4000);
      await again.closed;
      const last = new Stock(`${await address(visitor)}&pid=${pid}&own=1`);
      await last.type("echo last-$((1+1))\n");
      await last.shows(/last-2\r\n/);
      assert((await shells(ctx, visitor)).includes(pid), "it runs");
      last.socket.close(1000);
      await eventually(async () => !(await shells(ctx, visitor)).includes(pid), "its end");
    }),
  },
  {
    name: "terminal: this package dials a sandbox that a broker has given, again when it is cut off, and waits when nobody reads",
    run: visiting("main", async (visitor, ctx) => {
      const sockets = [];
      class Kept extends WebSocket {
        constructor(url) {
          // Compressed, a flood would be a trickle.
          super(url, { origin: "https://app.example", perMessageDeflate: false });
          sockets.push(this);
        }
      }
      const headers = { "x-visitor": visitor.name, origin: "https://app.example" };
      const sandbox = await ctx.sdk.Sandbox.attach({ endpoint: `${ctx.url}/main`, headers });
      const states = [];
      const terminal = await ctx.terminals.openTerminal(sandbox, {
        WebSocket: Kept,
        reconnect: { initialDelayMs: 1 },
        onState: (state) => states.push(state),
      });
      await terminal.write("kept=here; echo rea''dy\n");
      await readUntil(terminal, /ready/);
      sockets[0].terminate();
      await eventually(() => states.at(-1) === "ready" && states.includes("lost"), "another connection");
      await terminal.write('echo "<$kept>"; stty size\n');
      await readUntil(terminal, /<here>\r\n24 80/);
      await terminal.write("head -c 12000000 /dev/zero | tr '\\0' x; echo; exit 5\n");
      let held;
      await eventually(() => {
        const now = sockets.at(-1)._socket.bytesRead;
        const isStill = now > 1_000_000 && now === held;
        held = now;
        return isStill;
      }, "standing still");
      let count = 0;
      for await (const text of terminal.text()) count += text.split("x").length - 1;
      assert(count >= 12_000_000 && count < 12_000_010, `${count} of 12 000 000`);
      equal(await terminal.exit, { exitCode: 5, signal: undefined, reason: "exited" });
      const stopped = await ctx.terminals.openTerminal(sandbox, { WebSocket: Kept });
      stopped.close();
      await eventually(async () => !(await shells(ctx, visitor)).includes(stopped.pid), "the end of the shell");
    }),
  },
];

const missing = [
  {
    name: "terminal: a host without WebSockets says so, and what would help",
    run: visiting("mute", async (visitor) => {
      await visitor.open();
      await visitor.refused("/terminal", [501, "unsupported"]);
      const { error } = await (await visitor.post("/terminal")).json();
      assert(error.message.includes("upgradeWebSocket"), error.message);
    }),
  },
];
