// Starting the server of an image in a sandbox that does not start it by itself, and waiting until it is well.

import { flag, isObject, port as checkedPort, seconds, signalOf, textOr, texts } from "./checks.js";
import { ProviderTimeoutError, Unreachable, invalid } from "./errors.js";
import { Ending, pause } from "./signals.js";

/** How long the server may run, in seconds: a day. */
const LIFE_S = 86_400;
const POLL_MS = 500;

/** `commands` of the sandbox, `clientOf(port, options)`. */
export async function startServer({ commands, clientOf }, opts) {
  const owner = "startServer";
  const { port = 9000, commands: file, policy, token, env, command, wait, timeout, signal } = opts;
  const number = checkedPort(port, owner);
  if (token !== undefined && (typeof token !== "string" || token === "")) throw invalid("Option token of startServer must be a text that is not empty");
  if (policy !== undefined && typeof policy !== "string" && !isObject(policy)) throw invalid("Option policy of startServer must be the name of a preset, or an object");
  const limit = seconds(timeout, 30, "timeout", owner);
  const waits = flag(wait, true, "wait", owner);
  const words = ["agent-sandbox-server", "serve", "--port", String(number)];
  const given = textOr(file, undefined, "commands", owner);
  if (given !== undefined) words.push("--commands", given);
  if (typeof policy === "string") words.push("--preset", policy);
  const variables = { ...texts(env, "env", owner) };
  if (token !== undefined) variables.ABX_SERVER_TOKEN = token;
  if (isObject(policy)) variables.ABX_SERVER_POLICY = JSON.stringify(policy);

  const ending = new Ending(signalOf(signal, owner));
  ending.after(limit, () => new ProviderTimeoutError(`The server in the sandbox was not well within ${limit} s. Look at its output with commands.start, or give it more time`));
  const process = await commands.start(command ?? words, { env: variables, timeout: LIFE_S, signal: ending.signal });
  let failure;
  const exited = drain(process).then((exitCode) => {
    failure ??= new Unreachable(`The server in the sandbox ended${exitCode === undefined ? "" : ` with code ${exitCode}`} before it was well`);
  }, (error) => (failure ??= error));
  exited.catch(() => {});
  try {
    const client = await clientOf(number, { token, signal: ending.signal });
    while (waits && !(await client.health({ signal: ending.signal, timeout: limit }))) {
      if (failure) throw failure;
      await pause(POLL_MS, ending.signal);
    }
    return client;
  } catch (error) {
    await process.close().catch(() => {});
    throw error;
  } finally {
    ending.free();
  }
}

/** Reads what nobody wants to see, so that the server is never kept waiting; answers how it ended. */
async function drain(process) {
  let exitCode;
  for await (const chunk of process) if (chunk.type === "exit") exitCode = chunk.exitCode;
  return exitCode;
}
