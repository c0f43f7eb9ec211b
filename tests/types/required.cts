// The package through `require`, which has declarations of its own.
import sdk = require("agent-sandbox-web");

const create: (template: string) => Promise<sdk.Sandbox> = (template) => sdk.Sandbox.create(template);

export = create;
