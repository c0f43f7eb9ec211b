// Signatures of file URLs for callers that have a token and no sandbox object.

import { _sign } from "./core_bg.js";
import { invalid } from "./options.js";

export async function getSignature({ path, operation, user, expirationInSeconds, envdAccessToken } = {}) {
  if (typeof path !== "string") throw invalid("path of getSignature must be a string");
  if (operation !== "read" && operation !== "write") throw invalid('operation of getSignature must be "read" or "write"');
  if (typeof envdAccessToken !== "string" || envdAccessToken === "") throw invalid("envdAccessToken of getSignature must be the access token of a sandbox");
  if (user !== undefined && typeof user !== "string") throw invalid("user of getSignature must be a string");
  if (expirationInSeconds !== undefined && !(expirationInSeconds >= 0)) throw invalid("expirationInSeconds of getSignature must be a number of 0 or more");
  // 0 is a real expiration: the URL has expired already.
  const expiration = expirationInSeconds === undefined ? null : Math.floor(Date.now() / 1000) + Math.ceil(expirationInSeconds);
  return { signature: _sign(path, operation === "write", user, envdAccessToken, expiration ?? undefined), expiration };
}
