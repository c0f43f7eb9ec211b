// Terminals over WebSockets: the in-image server's, and the plain bridges of the local server and of the broker to a sandbox's own.
// JavaScript over the host's WebSocket, and an entry of its own, so that programs without one do not carry it.
//
// | module | what it is for |
// |---|---|
// | options.js | what the functions accept, checked by name |
// | address.js | where a terminal is; the only module that makes URLs with tokens |
// | dialects.js | the messages of the two kinds of servers |
// | closing.js | what a close code means: an end, a failure, or to try again |
// | dial.js | one WebSocket, until the server has said that the terminal is there |
// | output.js, input.js | what waits in either direction, and how much of it may |
// | terminal.js | one terminal over as many connections as it takes |
//
// `#package` stands for the entry that fits the host, so that there is one core whatever is imported.

import { bridgeAddress, serverAddress } from "./terminal/address.js";
import { bridge, server } from "./terminal/dialects.js";
import { readOptions, readServer } from "./terminal/options.js";
import { Terminal } from "./terminal/terminal.js";

export { terminalUrl } from "./terminal/address.js";

export async function openTerminal(target, opts) {
  const options = readOptions(opts, "openTerminal");
  return Terminal.open(bridgeAddress(target, options), bridge, options);
}

export async function openServerTerminal(target, opts) {
  const options = readOptions(opts, "openServerTerminal");
  return Terminal.open(serverAddress(readServer(target)), server, options);
}
