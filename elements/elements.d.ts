import type { Sandbox } from "#package";

/** How a session is: `lost` while its sandbox does not answer and is looked for, `ended` when it is over. */
export type SandboxSessionState = "idle" | "starting" | "ready" | "lost" | "ended";

/**
 * How a cell is: `waiting` for the sandbox; `failed` when its code did; `stopped` by the reader; `error` when it could not be run to
 * its end.
 */
export type SandboxCodeState = "idle" | "waiting" | "running" | "ok" | "failed" | "stopped" | "error";

/** How a terminal is: `lost` while it looks for its connection, `ended` when its shell is over. */
export type SandboxTerminalState = "idle" | "connecting" | "ready" | "lost" | "ended";

/** What the elements share. Elements belong to the nearest `<sandbox-session>` around them, or the one that `session` names. */
export declare class SandboxElement extends HTMLElement {}

/**
 * `<sandbox-session endpoint="/sandbox">`: gives the elements inside of it one sandbox, which starts when it is first needed.
 *
 * Attributes: `endpoint`, the address of a broker (`createSandboxBroker` of `agent-sandbox-web/edge`), which gives each visitor a
 * sandbox, the same one in other tabs and after a reload; `name`, which of the visitor's sandboxes, where the broker allows several;
 * `credentials` of the requests to it (`"same-origin"`, `"include"`, `"omit"`; default `"same-origin"`); `on-disconnect`, what happens
 * to the sandbox when the element or the page goes: `"leave"` (default: it ends when the broker's time is up) or `"kill"` (default for
 * a `sandbox` that is a function); `status="none"` hides the bar; `theme` (`"light"`, `"dark"`, `"auto"`; default: the page's).
 */
export declare class SandboxSession extends SandboxElement {
    /** The address of the broker, relative to the page. For one that wants headers, set `sandbox` to a function that attaches. */
    endpoint: string;
    /** The sandbox, while there is one. Set it, or a function that makes one, in place of `endpoint`. */
    get sandbox(): Sandbox | undefined;
    set sandbox(sandbox: Sandbox | (() => Promise<Sandbox>) | undefined);
    readonly state: SandboxSessionState;
    /** Why there is no sandbox; undefined when nothing is wrong. */
    readonly error: unknown;
    /**
     * The sandbox, started if there was none yet.
     *
     * Rejects as `Sandbox.attach` does where the broker refuses, or with an error of code `sandbox_gone` when it has ended: it is not replaced
     * unasked.
     */
    ensure(): Promise<Sandbox>;
    /**
     * A new sandbox in place of the one there was, which is ended. Rejects as `ensure`, and with an error of code `sandbox_kept` when
     * the broker does not let its pages end sandboxes.
     */
    restart(): Promise<Sandbox>;
    /** Ends the sandbox. */
    end(): Promise<void>;
}

/**
 * `<sandbox-code language="python">`: a cell whose text is code. Put the text into a `<pre>`, so that it can be read without
 * JavaScript.
 *
 * Attributes: `language` (default `"python"`); `context`, the name of variables shared with the cells of that name, or `"own"`;
 * `readonly`; `timeout` of a run in milliseconds (default 60 000; 0: none); `label`; `session`; `theme`.
 */
export declare class SandboxCode extends SandboxElement {
    /** The code as it would be run. */
    code: string;
    language: string;
    readonly state: SandboxCodeState;
    /** Runs the code. Resolves to the state that it ended with and never rejects; resolves at once when it runs already. */
    run(): Promise<SandboxCodeState>;
    /** Interrupts the code. Variables are kept. */
    stop(): void;
    /** Takes the output away. */
    clear(): void;
}

/**
 * `<sandbox-terminal>`: a shell of the session's sandbox. Attributes: `cwd`, `user`, `autostart`, `label`, `session`; `transport`, of which
 * `"websocket"` has the sandbox's terminal dialled over a WebSocket, where the local server or a broker has one, and anything else uses
 * calls; `socket`, the address of a bridge in place of a session's sandbox. A page's policy has to allow the address in `connect-src`.
 */
export declare class SandboxTerminal extends SandboxElement {
    /** The address of a bridge, or a function that answers one for each connection, because tokens expire. */
    socket: string | (() => string | Promise<string>) | undefined;
    readonly state: SandboxTerminalState;
    /** Opens a shell. Never rejects: what goes wrong is shown. */
    open(): Promise<void>;
    /** Ends the shell. */
    close(): Promise<void>;
}

/** `<sandbox-files path="/home/user">`: the files of the session's sandbox. Attributes: `path`, `hidden-files`, `label`, `session`. */
export declare class SandboxFiles extends SandboxElement {
    /** The directory that is the root of the tree. */
    path: string;
    /** Reads the tree anew. Never rejects: what goes wrong is shown. */
    refresh(): Promise<void>;
    /** Uploads files into a directory; default `path`. Never rejects: what goes wrong is shown. */
    upload(files: Iterable<File>, directory?: string): Promise<void>;
}

declare global {
    interface HTMLElementTagNameMap {
        "sandbox-session": SandboxSession;
        "sandbox-code": SandboxCode;
        "sandbox-terminal": SandboxTerminal;
        "sandbox-files": SandboxFiles;
    }
    interface HTMLElementEventMap {
        /** The state of a session has changed. Bubbles. */
        sandboxstatechange: CustomEvent<{ state: SandboxSessionState }>;
        /** A cell has begun to run. Bubbles. */
        sandboxrunstart: CustomEvent<Record<string, never>>;
        /** A cell has ended. Bubbles. */
        sandboxrunend: CustomEvent<{ state: SandboxCodeState }>;
    }
}
