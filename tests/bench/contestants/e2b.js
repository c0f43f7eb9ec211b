// The standard client.

import { Sandbox } from "../../clients/node/node_modules/e2b/dist/index.js";

export const open = async (target) => methods(await connect(Sandbox, target));

export function connect(Sandbox, target) {
  const { apiKey, url } = target;
  return Sandbox.connect(target.sandboxId, { apiKey, apiUrl: url, sandboxUrl: url });
}

export function methods(sandbox) {
  return {
    async events(command, { onStdout }) {
      return (await sandbox.commands.run(command, { onStdout, timeoutMs: 0 })).stdout;
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
