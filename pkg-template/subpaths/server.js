// The client of the HTTP server that template images bring with them (port 9000): named commands, files, processes, terminals and
// whatever else its policy permits.
//
// | module | what it is for |
// |---|---|
// | client.js | the client itself: discovery, other requests to the port |
// | reach.js, address.js | ways to the server and its addresses; the only caller of `fetch` |
// | calls.js, clock.js | one request: what is sent and read, how long it takes, what is sent again |
// | errors.js | what refusals become |
// | sse.js, events.js | server-sent events, and going on after a cut |
// | capabilities.js | what the server permits |
// | commands.js, command-types.js | named commands, and TypeScript for them |
// | files.js, process.js, terminal.js, system.js, dev-tools.js, browser.js, agents.js | one group of endpoints each |
// | code.js | code by the server or by the sandbox's interpreter |
// | check.js, json.js, base64.js, command-line.js, times.js | arguments and forms |
//
// `#package` stands for the entry that fits the host, so that there is one core whatever is imported.

export { ServerCapabilities } from "./server/capabilities.js";
export { ServerClient } from "./server/client.js";
export { generateCommandTypes } from "./server/command-types.js";
export {
  CommandArgumentError,
  CommandExecutionError,
  CommandNotFoundError,
  EndpointUnavailableError,
  PathDeniedError,
  PayloadTooLargeError,
  PolicyDeniedError,
  ServerError,
} from "./server/errors.js";
export { ServerProcess } from "./server/process-handle.js";
