// The program through `require`.

const sdk = require("agent-sandbox-web");

import("./shared/program.js").then(({ run }) => run(sdk, {})).then(console.log);
