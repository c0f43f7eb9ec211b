// One WebSocket, from dialling until the server has said that the terminal is there. Frames that come later, and the end, go to
// whoever listens; what comes before there is a listener is kept, in order.

import { ConnectionError, TimeoutError } from "#package";
import { meaningOf } from "./closing.js";

/**
 * Resolves to a {@link Line} that is attached. Rejects with a typed error, or with the signal's reason.
 *
 * @param {{ url: URL, dialect: object, WebSocket: Function, timeoutMs: number, signal: AbortSignal }} call
 */
export function dial({ url, dialect, WebSocket, timeoutMs, signal }) {
  return new Promise((resolve, reject) => {
    let line;
    const socket = make(WebSocket, url);
    const clock = timeoutMs > 0 ? setTimeout(() => fail(late(url, timeoutMs)), timeoutMs) : undefined;
    const abort = () => fail(signal.reason);
    const settle = () => {
      clearTimeout(clock);
      signal.removeEventListener("abort", abort);
    };
    const fail = (error) => {
      settle();
      line.close(1000);
      reject(error);
    };
    line = new Line(socket, dialect, {
      onAttached() {
        settle();
        resolve(line);
      },
      onRefused(closed) {
        const { error } = meaningOf(dialect, closed);
        fail(error ?? unreachable(url));
      },
    });
    signal.addEventListener("abort", abort);
  });
}

function make(WebSocket, url) {
  try {
    return new WebSocket(url.href);
  } catch {
    // Without a cause: the host's error would repeat the URL, and the token in it.
    throw unreachable(url);
  }
}

/** Host and port of a URL: all of it that may be told. */
const place = (url) => `${url.protocol}//${url.host}`;

function unreachable(url) {
  const message = `The terminal at ${place(url)} cannot be reached. Check that the server has a terminal there and knows this page's origin, and that the page's policy allows the address in connect-src`;
  return new ConnectionError(message, { code: "connection_failed", retryable: true });
}

function late(url, timeoutMs) {
  return new TimeoutError(`The terminal at ${place(url)} was not there within ${timeoutMs} ms (connectTimeoutMs)`, { code: "request_timeout", retryable: true });
}

/** A connection. `listen` takes what comes of it: `{ onEvent(event), onClosed({ code, reason }) }`. */
class Line {
  #socket;
  #dialect;
  #early;
  #waiting = [];
  #listener;
  #closed = false;

  constructor(socket, dialect, early) {
    this.#socket = socket;
    this.#dialect = dialect;
    this.#early = early;
    // Blobs would have to be read, and order would be lost.
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", this.#arrived);
    socket.addEventListener("close", this.#ended);
    // What it has to say is said by the event that follows it. Some hosts end the program when nobody listens.
    socket.addEventListener("error", ignore);
  }

  listen(listener) {
    this.#listener = listener;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const tell of waiting) if (!this.#closed) tell();
  }

  get bufferedAmount() {
    // Some hosts do not say.
    return this.#socket.bufferedAmount ?? 0;
  }

  /** Sends a frame, unless the connection is over: its end is told anyway. */
  send(frame) {
    if (!this.#closed && this.#socket.readyState === 1) this.#socket.send(frame);
  }

  /** Nothing is told after this. */
  close(code) {
    if (this.#closed) return;
    this.#forget();
    try {
      this.#socket.close(code);
    } catch {
      // It was never open.
    }
  }

  #arrived = ({ data }) => {
    let event;
    try {
      event = this.#dialect.read(data);
    } catch (error) {
      event = { error };
    }
    if (event === undefined) return;
    this.#tell(() => this.#listener.onEvent(event));
    if (event.error === undefined) this.#attached();
  };

  #attached() {
    const early = this.#early;
    this.#early = undefined;
    early?.onAttached();
  }

  #ended = ({ code = 1006, reason = "" }) => {
    const early = this.#early;
    const closed = { code, reason: String(reason), attached: early === undefined };
    if (early) {
      this.#forget();
      return early.onRefused(closed);
    }
    this.#tell(() => {
      this.#forget();
      this.#listener.onClosed(closed);
    });
  };

  #tell(tell) {
    if (this.#listener) tell();
    else this.#waiting.push(tell);
  }

  #forget() {
    this.#closed = true;
    this.#early = undefined;
    this.#socket.removeEventListener("message", this.#arrived);
    this.#socket.removeEventListener("close", this.#ended);
  }
}

function ignore() {}
