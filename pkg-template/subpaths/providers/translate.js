// What errors of the package's own `Sandbox` mean to the family. Aborts and whatever callbacks threw stay what they are. Pure.

import { SandboxError } from "#package";
import {
  CommandTimeoutError,
  EnvdRpcError,
  FileOperationError,
  MissingFile,
  MissingSandbox,
  PermissionDeniedError,
  ProviderFeatureNotSupportedError,
  ProviderTimeoutError,
  Unreachable,
} from "./errors.js";
import { neverSent, unknownOutcome } from "./http.js";

/** No answer, or not all of it. */
const LOST = ["connection_failed", "connection_lost", "stream_truncated"];
const CLOCKS = ["request_timeout", "idle_timeout"];

/** Errors of a call about files or about processes. `changes` says whether it may have done something when its answer is lost. */
export async function translated(promise, about) {
  try {
    return await promise;
  } catch (error) {
    throw meaning(error, about);
  }
}

export function meaning(error, { provider, kind, what, rpc, changes = false }) {
  // Wrong arguments, and what this package cannot do here, are said in its own words.
  const isOwn = !(error instanceof SandboxError) || /^E\d{4}$/.test(error.code) || (error.code === "invalid_argument" && error.status === undefined);
  if (isOwn || ["internal", "disconnected"].includes(error.code)) return error;
  const { code, status, requestId, retryable, stdout, stderr } = error;
  const facts = { provider, status, requestId, retryable, cause: error, stdout, stderr };
  if (LOST.includes(code)) {
    if (changes && !neverSent(error)) return unknownOutcome(what, error, { provider, stdout, stderr });
    return new Unreachable(error.message, facts);
  }
  if (CLOCKS.includes(code)) {
    const outcome = changes ? ". It may or may not have been carried out: inspect the state before repeating it" : "";
    return new ProviderTimeoutError(error.message + outcome, { ...facts, outcomeUnknown: changes || undefined, retryable: !changes });
  }
  if (code === "sandbox_gone") return new MissingSandbox(error.message, facts);
  if (code === "unsupported" || code === "unsupported_by_sandbox") return new ProviderFeatureNotSupportedError(error.message, facts);
  if (kind === "file") {
    if (code === "file_not_found" || code === "not_found") return new MissingFile(`The file was not found: ${error.message}`, facts);
    if (code === "permission_denied") return new PermissionDeniedError(`The sandbox denied it: ${error.message}`, facts);
    return new FileOperationError(error.message, facts);
  }
  if (["command_timeout", "deadline_exceeded", "execution_timeout"].includes(code)) return new CommandTimeoutError(error.message, facts);
  return new EnvdRpcError(error.message, { ...facts, rpcPath: rpc });
}
