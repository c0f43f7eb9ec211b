// What needs a machine of one's own: programs that are installed and started. It exists, so that whoever looks for it learns where it
// is instead.

import { ProviderFeatureNotSupportedError } from "./errors.js";

function hostOnly(name, instead) {
  return async function () {
    throw new ProviderFeatureNotSupportedError(`${name} needs a file system and programs of the host, which a package for pages and edge runtimes does not touch. ${instead}`, { feature: name });
  };
}

const COMMAND = "Use the command `abx provider` on the machine, and its engine from here: a provider of kind \"node\" with engine: { url, token }";
const OBJECT = "Give the provider as an object: kind \"rest\" for a platform with an HTTP API, or one with a function open of your own";

export const installProvider = hostOnly("installProvider", COMMAND);
export const uninstallProvider = hostOnly("uninstallProvider", COMMAND);
export const updateProvider = hostOnly("updateProvider", COMMAND);
export const doctor = hostOnly("doctor", COMMAND);
/** Providers that are programs which speak over standard input and output. */
export const startExecProvider = hostOnly("startExecProvider", OBJECT);
/** Finding an engine by its file in the home directory, or starting one. */
export const discoverEngine = hostOnly("discoverEngine", 'Read url and token from the engine.json that `abx provider engine serve` writes, and pass them: new ProviderEngine({ url, token })');
