// The suite: plain cases, independent of any test framework, that run unchanged in every runtime.
//
// A case is { name, run(ctx), timeoutMs? } with ctx = { sdk, config, fresh, apiUrl, apiKey, faultsUrl }: the imported package and its
// entry for configuration, a function that imports it once more, as a reload does, a server that speaks the protocol, and the control port of a proxy
// before it that breaks connections. It passes when `run` resolves.

import { cases as attach } from "./attach.js";
import { cases as auth } from "./auth.js";
import { cases as client } from "./client.js";
import { cases as code } from "./code.js";
import { cases as codeEvents } from "./code-events.js";
import { cases as kernels } from "./code-kernels.js";
import { cases as commands } from "./commands.js";
import { cases as config } from "./config.js";
import { cases as configFiles } from "./config-files.js";
import { cases as configVectors } from "./config-vectors.js";
import { cases as controlVectors } from "./control-vectors.js";
import { cases as durable } from "./durable.js";
import { cases as durableTokens } from "./durable-tokens.js";
import { cases as faults } from "./faults.js";
import { cases as files } from "./files.js";
import { cases as git } from "./git.js";
import { cases as gitVectors } from "./git-vectors.js";
import { cases as handles } from "./handles.js";
import { cases as lifecycle } from "./lifecycle.js";
import { cases as mcpVectors } from "./mcp-vectors.js";
import { cases as platform } from "./platform.js";
import { cases as pty } from "./pty.js";
import { cases as reconnect } from "./reconnect.js";
import { cases as sandbox } from "./sandbox.js";
import { cases as secrets } from "./secrets.js";
import { cases as servers } from "./servers.js";
import { cases as streams } from "./streams.js";
import { cases as templates } from "./templates.js";
import { cases as templateVectors } from "./template-vectors.js";
import { cases as transfers } from "./transfers.js";
import { cases as volumes } from "./volumes.js";
import { cases as watch } from "./watch.js";

export const cases = [
  sandbox,
  commands,
  code,
  codeEvents,
  kernels,
  handles,
  durable,
  durableTokens,
  reconnect,
  pty,
  files,
  watch,
  streams,
  attach,
  auth,
  lifecycle,
  volumes,
  secrets,
  controlVectors,
  templateVectors,
  templates,
  faults,
  transfers,
  gitVectors,
  git,
  mcpVectors,
  client,
  platform,
  servers,
  configVectors,
  configFiles,
  config,
].flat();
