// How long the server takes for things by itself, and the units that it counts in.

/** What commands and watching are given unless the caller says otherwise, in ms. */
export const COMMAND_MS = 300_000;
export const WATCH_MS = 300_000;
export const CODE_MS = 30_000;

/** How much longer the client waits than the server, so that it is the server that says what happened, in ms. */
const RESERVE_MS = 10_000;

export function withReserve(ms) {
  return Math.min(ms + RESERVE_MS, 2 ** 31 - 1);
}

/** Milliseconds as the seconds of a request. */
export function seconds(ms) {
  return ms === undefined ? undefined : ms / 1000;
}

/** The same where the server drops fractions: half a second would become its default of 30. */
export function wholeSeconds(ms) {
  return ms === undefined ? undefined : Math.ceil(ms / 1000);
}
