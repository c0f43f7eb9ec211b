// Volumes of a new sandbox: which paths they may have. Pure.

import { isObject } from "./checks.js";
import { ProviderConfigError } from "./errors.js";

const KEPT = ["bin", "opt", "var", "dev"];
const DANGEROUS = ["__proto__", "prototype", "constructor"];

/** `[{ name, path }]` of an object with volume names by path. */
export function mountsOf(given) {
  if (given === undefined || given === null) return [];
  if (!isObject(given)) throw new ProviderConfigError("volumeMounts must be an object with the names of volumes by path");
  return Object.keys(given).map((path) => {
    const wrong = (why) => new ProviderConfigError(`volumeMounts[${JSON.stringify(path)}] ${why}`);
    const segments = path.split("/").slice(1);
    if (DANGEROUS.includes(path) || path !== path.trim() || path.includes("\0")) throw wrong("is not a path that can be mounted at");
    if (!path.startsWith("/") || path === "/") throw wrong("must be an absolute path below /");
    if (segments.some((segment) => segment === "" || segment.startsWith("."))) throw wrong("must have no empty segment and none that begins with a dot");
    if (KEPT.includes(segments[0])) throw wrong(`must not be below ${KEPT.map((name) => `/${name}`).join(", ")}`);
    const name = given[path];
    if (typeof name !== "string" || name.trim() === "" || name !== name.trim() || name.includes("\0")) throw wrong("must name a volume, without blanks around it");
    return { name, path };
  });
}
