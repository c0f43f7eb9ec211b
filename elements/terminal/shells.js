// The two ways to a shell, in one shape: `{ sandbox, handle, connect, resize(size), end() }`. `handle` is the connection that the shell
// was opened with: `{ send(text), leave(), wait() }`, where `wait` rejects when it is lost or has failed. `connect` answers another one; a
// WebSocket has none, because it looks for its connection itself.

/** A shell by the calls of the package. `look` is `{ size, cwd, user }`, and what it prints goes to `onData`. */
export async function callShell(sandbox, { size, cwd, user }, onData) {
  const handle = await sandbox.pty.create({ ...size, cwd, user, onData });
  const { pid } = handle;
  return {
    sandbox,
    handle: inShape(handle),
    connect: async () => inShape(await sandbox.pty.connect(pid, { onData })),
    resize: (next) => sandbox.pty.resize(pid, next),
    end: () => sandbox.pty.kill(pid),
  };
}

const inShape = (handle) => ({
  send: (text) => handle.sendStdin(text),
  leave: () => handle.disconnect(),
  // However it ended, it did.
  wait: () => handle.wait().catch((error) => (error?.name === "CommandExitError" ? undefined : Promise.reject(error))),
});

/** A shell over a WebSocket to `target`, which is what `openTerminal` takes. `onState` is told `"lost"` and `"ready"`. */
export async function socketShell(target, sandbox, { size, cwd, user }, onData, onState) {
  const { openTerminal } = await import("#terminal");
  const terminal = await openTerminal(target, { ...size, cwd, user, onData, onState: (state, { error }) => onState(state, error) });
  return {
    sandbox,
    handle: { send: (text) => terminal.write(text), leave: () => terminal.detach(), wait: () => terminal.exit },
    resize: async (next) => terminal.resize(next),
    end: async () => terminal.close(),
  };
}
