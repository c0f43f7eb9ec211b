// The errors of the provider family: codes of the E-series, each on the class of the package that means the same, so that whoever
// catches an `AuthenticationError` or a `TimeoutError` need not know which family it came from. Plain classes; touches nothing.

import {
  AuthenticationError,
  ConnectionError,
  FileNotFoundError,
  InvalidArgumentError,
  NotFoundError,
  ProtocolError,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
  UnsupportedError,
} from "#package";

/** What errors of the family may know beside the facts of every `SandboxError`. */
const FACTS = ["provider", "feature", "operation", "outcomeUnknown", "rpcPath", "limit", "errorType", "scope", "retryAfter", "stdout", "stderr"];

/** A class below `Base` whose errors have `code` unless the facts name another one. */
function family(Base, code) {
  return class extends Base {
    constructor(message, facts = {}) {
      super(message, { ...facts, code: facts.code ?? code });
      for (const name of FACTS) if (facts[name] !== undefined) this[name] = facts[name];
    }
  };
}

export class InvalidAPIKeyError extends family(AuthenticationError, "E1001") {}
export class InvalidCredentialsError extends family(AuthenticationError, "E1003") {}
export class SandboxCreationError extends family(SandboxError, "E2000") {}
export class TemplateNotFoundError extends family(NotFoundError, "E2001") {}
export class QuotaExceededError extends family(RateLimitError, "E2002") {}
export class CommandTimeoutError extends family(TimeoutError, "E3001") {}
export class CommandNotFoundError extends family(NotFoundError, "E3005") {}
export class EnvdRpcError extends family(SandboxError, "E3006") {}
export class FileOperationError extends family(SandboxError, "E4000") {}
export class PermissionDeniedError extends family(SandboxError, "E4002") {}
export class FileSizeLimitError extends family(SandboxError, "E4003") {}
export class ProviderError extends family(SandboxError, "E8000") {}
export class ProviderNotFoundError extends family(NotFoundError, "E8001") {}
export class ProviderConfigError extends family(InvalidArgumentError, "E8002") {}
export class ProviderConflictError extends family(SandboxError, "E8003") {}
export class ProviderFeatureNotSupportedError extends family(UnsupportedError, "E8004") {}
export class ProviderResourceNotFoundError extends family(NotFoundError, "E8005") {}
export class ProviderProtocolError extends family(ProtocolError, "E8020") {}
export class ProviderTimeoutError extends family(TimeoutError, "E8022") {}
export class ProviderMismatchError extends family(InvalidArgumentError, "E8030") {}
export class ServerAPIError extends family(SandboxError, "E9000") {}
export class ServerAuthError extends family(AuthenticationError, "E9001") {}
export class PolicyDeniedError extends family(SandboxError, "E9002") {}
export class EndpointNotAvailableError extends family(NotFoundError, "E9003") {}
export class PayloadTooLargeError extends family(SandboxError, "E9004") {}
export class RateLimitedError extends family(RateLimitError, "E9005") {}

/** These are the package's own classes with the codes of the family: whoever catches them imports them from the main entry. */
export class MissingSandbox extends family(SandboxNotFoundError, "E2009") {}
export class MissingFile extends family(FileNotFoundError, "E4001") {}
export class Unreachable extends family(ConnectionError, "E5001") {}

/** What is thrown for a wrong argument. */
export function invalid(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}

// Named here and not by `constructor.name`, because minifiers rename classes.
const NAMES = {
  InvalidAPIKeyError,
  InvalidCredentialsError,
  SandboxCreationError,
  TemplateNotFoundError,
  QuotaExceededError,
  CommandTimeoutError,
  CommandNotFoundError,
  EnvdRpcError,
  FileOperationError,
  PermissionDeniedError,
  FileSizeLimitError,
  ProviderError,
  ProviderNotFoundError,
  ProviderConfigError,
  ProviderConflictError,
  ProviderFeatureNotSupportedError,
  ProviderResourceNotFoundError,
  ProviderProtocolError,
  ProviderTimeoutError,
  ProviderMismatchError,
  ServerAPIError,
  ServerAuthError,
  PolicyDeniedError,
  EndpointNotAvailableError,
  PayloadTooLargeError,
  RateLimitedError,
  SandboxNotFoundError: MissingSandbox,
  FileNotFoundError: MissingFile,
  ConnectionError: Unreachable,
};
for (const [name, type] of Object.entries(NAMES)) {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true, writable: true });
}

/** The classes that a server of the family may name in its errors, by the names that it uses. */
export const BY_NAME = { ...NAMES, FileNotFoundError_: MissingFile, ConnectionError_: Unreachable };
