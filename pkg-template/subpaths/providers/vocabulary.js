// The words that providers declare themselves with: coarse features, exact operations, and what both mean together. Plain data.

export const FEATURES = Object.freeze([
  "sandbox.lifecycle",
  "sandbox.timeout",
  "sandbox.pause",
  "exec.run",
  "exec.stream",
  "process.manage",
  "pty",
  "files.rw",
  "files.watch",
  "files.transfer",
  "templates.read",
  "templates.build",
  "templates.deploy",
  "ports.url",
  "ports.domain",
  "storage.mount",
  "network.vpc",
  "sessions",
]);

export const OPERATIONS = Object.freeze([
  "sandbox.create",
  "sandbox.get",
  "sandbox.list",
  "sandbox.delete",
  "sandbox.timeout",
  "sandbox.pause",
  "sandbox.resume",
  "template.prepare",
  "exec.run",
  "exec.stream",
  "files.read",
  "files.write",
  "files.list",
  "files.stat",
  "files.remove",
  "files.move",
  "ports.resolve",
  "code.execute",
  "code.context.create",
  "code.context.execute",
  "code.context.list",
  "code.context.restart",
  "code.context.delete",
  "code.default-context.execute",
  "code.stream",
  "code.results.structured",
]);

/** Those of the code interpreter that this client can carry out itself. */
export const CODE_OPERATIONS = Object.freeze(OPERATIONS.filter((operation) => operation.startsWith("code.")));

/** The version of the meaning of the operations. */
export const OPERATION_CONTRACT_VERSION = 1;

/** What a provider can do in one word each: for discovery, never for authorization. */
export function capabilitiesOf({ features, operations }) {
  const has = new Set(operations);
  const capabilities = new Set();
  if (has.has("exec.run")) capabilities.add("shell");
  if (has.has("files.read") && has.has("files.write")) capabilities.add("files");
  if (operations.some((operation) => operation.startsWith("code."))) capabilities.add("code");
  if (features.includes("pty")) capabilities.add("terminal");
  if (has.has("ports.resolve")) capabilities.add("ports");
  return capabilities;
}
