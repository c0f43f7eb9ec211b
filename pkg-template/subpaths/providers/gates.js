// What may be asked of a provider: every call is held against what the provider declares, before anything is sent. Pure.

import { ProviderFeatureNotSupportedError } from "./errors.js";

/** Of each method of a protocol, the operations of which the provider must declare one. An empty list is a method without a gate. */
const OPERATIONS = {
  sandbox: {
    create: ["sandbox.create"],
    get: ["sandbox.get"],
    connect: ["sandbox.get"],
    isRunning: ["sandbox.get"],
    list: ["sandbox.list"],
    kill: ["sandbox.delete"],
    setTimeout: ["sandbox.timeout"],
    pause: ["sandbox.pause"],
    resume: ["sandbox.resume"],
  },
  process: {
    start: ["exec.run", "exec.stream"],
    list: [],
    sendInput: [],
    sendSignal: [],
  },
  filesystem: {
    read: ["files.read"],
    write: ["files.write"],
    makeDir: ["files.write"],
    list: ["files.list"],
    stat: ["files.stat"],
    exists: ["files.stat"],
    remove: ["files.remove"],
    move: ["files.move"],
    watch: [],
    uploadUrl: ["files.write"],
    downloadUrl: ["files.read"],
  },
  code: {
    run: [],
    createContext: ["code.context.create"],
    listContexts: ["code.context.list"],
    restartContext: ["code.context.restart"],
    removeContext: ["code.context.delete"],
  },
  ports: {
    host: ["ports.resolve"],
    url: ["ports.resolve"],
    accessHeaders: ["ports.resolve"],
    serverHeaders: ["ports.resolve"],
    resolve: ["ports.resolve"],
    endpoint: ["ports.resolve"],
  },
  terminal: { open: [] },
};

/** The same for features, which only REST providers are held against: their declaration is all that is known of them. */
const FEATURES = {
  sandbox: {
    create: ["sandbox.lifecycle"],
    get: ["sandbox.lifecycle"],
    connect: ["sandbox.lifecycle"],
    isRunning: ["sandbox.lifecycle"],
    list: ["sandbox.lifecycle"],
    kill: ["sandbox.lifecycle"],
    setTimeout: ["sandbox.timeout"],
    pause: ["sandbox.pause"],
    resume: ["sandbox.pause"],
  },
  process: { start: ["exec.run", "exec.stream"], list: ["process.manage"], sendInput: ["process.manage"], sendSignal: ["process.manage"] },
  filesystem: { ...Object.fromEntries(Object.keys(OPERATIONS.filesystem).map((name) => [name, ["files.rw"]])), watch: ["files.watch"] },
  terminal: { open: ["pty"] },
};

/** Those of the synchronous methods: they throw, where the others reject. */
const SYNCHRONOUS = ["host", "url", "accessHeaders", "serverHeaders"];

/** Refuses what the provider does not declare. */
export function requireOperations(provider, operations, what) {
  for (const operation of operations) {
    if (!provider.operations.includes(operation)) throw unsupported(provider, what, operation);
  }
}

/** The methods of a protocol behind their gates. What the provider lacks is refused in the same words, and never done another way. */
export function gated(provider, kind, protocol) {
  const gates = {};
  for (const [name, operations] of Object.entries(OPERATIONS[kind])) {
    const features = provider.kind === "rest" ? (FEATURES[kind]?.[name] ?? []) : [];
    const check = () => {
      const missing = lacks(provider.features, features) ?? lacks(provider.operations, operations);
      if (missing !== undefined) throw unsupported(provider, `${kind}.${name}`, missing);
      if (typeof protocol?.[name] !== "function") throw unsupported(provider, `${kind}.${name}`);
    };
    const call = (...args) => (check(), protocol[name](...args));
    gates[name] = SYNCHRONOUS.includes(name) ? call : async (...args) => call(...args);
  }
  return gates;
}

/** What is missing when none of the wanted is there. */
function lacks(declared, wanted) {
  return wanted.length > 0 && !wanted.some((one) => declared.includes(one)) ? wanted[0] : undefined;
}

export function unsupported(provider, what, missing) {
  const why = missing === undefined ? "has no way to do it" : `does not declare ${missing}`;
  const message = `The provider ${provider.id} ${why}, so ${what} was not sent. Choose a provider that can, or look at sandbox.operations first`;
  return new ProviderFeatureNotSupportedError(message, { provider: provider.id, feature: missing ?? what, operation: missing });
}
