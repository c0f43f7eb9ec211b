// Sandboxes of any provider: the built-in one, platforms with an HTTP API given as plain objects, those that an engine carries, and
// objects of one's own. Importing does no work.
//
// | module | what it is for |
// |---|---|
// | sandbox.js | `ProviderSandbox`, and how a back end is opened |
// | commands.js, files.js, network.js, code.js | its parts, whatever the provider |
// | vocabulary.js, provider.js, registry.js, reference.js, config.js | what a provider is, which there are, and how one is chosen and configured |
// | gates.js | what is refused before anything is sent |
// | express.js, rest.js, engine.js | the kinds of providers |
// | control.js, envd.js, envd-*.js, translate.js | REST and daemon, over the package's own `Sandbox` |
// | engine-client.js, sse.js, management.js | engines and their management operations |
// | server-wire.js, binding.js, endpoint.js, start-server.js | the HTTP service in an image |
// | http.js, signals.js, stream.js, checks.js, errors.js | what all of them have in common |
// | host-only.js | what cannot be here, and where it is instead |
//
// `#package` stands for the entry that fits the host, so that there is one core whatever is imported.

export { ProviderSandbox } from "./providers/sandbox.js";
export { ApplicationClient } from "./providers/server-wire.js";
export { ProviderEngine } from "./providers/management.js";
export { express as expressProvider } from "./providers/express.js";
export { defineProvider, describeProvider } from "./providers/provider.js";
export { restProvider } from "./providers/rest.js";
export { engineProvider } from "./providers/engine.js";
export { findProvider, listProviders, registerProvider, unregisterProvider } from "./providers/registry.js";
export { parseReference, qualify } from "./providers/reference.js";
export { FEATURES, OPERATIONS, capabilitiesOf } from "./providers/vocabulary.js";
export { StreamReader } from "./providers/stream.js";
export { discoverEngine, doctor, installProvider, startExecProvider, uninstallProvider, updateProvider } from "./providers/host-only.js";
export {
  CommandNotFoundError,
  CommandTimeoutError,
  EndpointNotAvailableError,
  EnvdRpcError,
  FileOperationError,
  FileSizeLimitError,
  InvalidAPIKeyError,
  InvalidCredentialsError,
  PayloadTooLargeError,
  PermissionDeniedError,
  PolicyDeniedError,
  ProviderConfigError,
  ProviderConflictError,
  ProviderError,
  ProviderFeatureNotSupportedError,
  ProviderMismatchError,
  ProviderNotFoundError,
  ProviderProtocolError,
  ProviderResourceNotFoundError,
  ProviderTimeoutError,
  QuotaExceededError,
  RateLimitedError,
  SandboxCreationError,
  ServerAPIError,
  ServerAuthError,
  TemplateNotFoundError,
} from "./providers/errors.js";
