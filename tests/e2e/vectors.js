// Holding recordings of another client against this one: every case of a list is compared, and every difference is listed.

import { equal } from "./assert.js";

/** Imports are written out with their attributes, because bundlers must see them. */
const FILES = {
  "config-keys": () => import("../vectors/config-keys.json", { with: { type: "json" } }),
  "config-resolution": () => import("../vectors/config-resolution.json", { with: { type: "json" } }),
  git: () => import("../vectors/git.json", { with: { type: "json" } }),
  "mcp-servers": () => import("../vectors/mcp-servers.json", { with: { type: "json" } }),
  templates: () => import("../vectors/templates.json", { with: { type: "json" } }),
};

/** A file of recordings, and a function that tells whether a case of a list is known to differ. */
export async function load(file) {
  const { default: recorded } = await FILES[file]();
  const { default: known } = await import("../vectors/known-differences.json", { with: { type: "json" } });
  return { recorded, differs: (list, name) => (known[file]?.[list] ?? []).some((entry) => entry.case === name) };
}

/**
 * Compares every case of a list. `compare(case, name)` answers `[ours, theirs]`. For each case that is known to differ,
 * `instead[name](theirs)` answers what ours is then; null says that this client has nothing to compare.
 */
export async function replay(file, list, compare, instead = {}) {
  const { recorded, differs } = await load(file);
  const unused = new Set(Object.keys(instead));
  for (const [key, one] of Object.entries(recorded[list])) {
    const name = one.name ?? one.desc ?? one.key ?? key;
    const isListed = Object.hasOwn(instead, name);
    unused.delete(name);
    equal(differs(list, name), isListed, `${file}, ${list}, ${name}: whether it stands in known-differences.json`);
    if (isListed && instead[name] === null) continue;
    const [ours, theirs] = await compare(one, name);
    const wanted = isListed ? instead[name](theirs) : theirs;
    if (isListed) equal(JSON.stringify(ours) === JSON.stringify(theirs), false, `${file}, ${list}, ${name}: listed, but the same`);
    equal(ours, wanted, `${file}, ${list}, ${name}`);
  }
  equal([...unused], [], `${file}, ${list}: cases that do not exist`);
}
