// The package that this repository builds.

import { Sandbox } from "agent-sandbox-web";

/** `encoding` is the package's own option. */
export async function open(target, encoding = "auto") {
  const opts = { apiKey: target.apiKey, apiUrl: target.url, sandboxUrl: target.url, encoding };
  const sandbox = await Sandbox.connect(target.sandboxId, opts);
  return {
    async events(command, { onStdout, keep = true }) {
      const opts = { onStdout, timeoutMs: 0, ...(keep ? {} : { maxOutput: 0 }) };
      return (await sandbox.commands.run(command, opts)).stdout;
    },
    async code(code, { onStdout }) {
      const { logs } = await sandbox.runCode(code, { onStdout: onStdout && ((message) => onStdout(message.line)), timeoutMs: 0 });
      return logs.stdout;
    },
    run: (command) => sandbox.commands.run(command),
    upload: (path, data) => sandbox.files.write(path, data, { requestTimeoutMs: 0 }),
    download: (path, format) => sandbox.files.read(path, { format, requestTimeoutMs: 0 }),
  };
}
