// Reads a WebAssembly module that still has its names, and says what it consists of.

const [CUSTOM, IMPORT, CODE, DATA] = [0, 2, 10, 11];
/** The names of functions, within the section of names. */
const FUNCTION_NAMES = 1;
/** An import of a function. */
const FUNCTION = 0;

/** The functions, and groups of them by crate and module, both with the largest first; and the bytes of code and data. */
export function contributors(bytes) {
  const sections = [...read(bytes, 8, bytes.length)];
  const section = (id) => sections.find((one) => one.id === id);
  const names = functionNames(sections.filter(({ id }) => id === CUSTOM).map(({ body }) => body));
  const first = importedFunctions(section(IMPORT)?.body);
  const functions = sizes(section(CODE).body).map((bytes, index) => ({ name: plain(names.get(first + index) ?? "?"), bytes }));
  const byName = new Map();
  for (const { name, bytes } of functions) {
    const key = group(name);
    const found = byName.get(key) ?? { name: key, bytes: 0, count: 0 };
    found.bytes += bytes;
    found.count += 1;
    byName.set(key, found);
  }
  const largestFirst = (one, other) => other.bytes - one.bytes;
  return {
    functions: functions.sort(largestFirst),
    groups: [...byName.values()].sort(largestFirst),
    code: section(CODE).body.length,
    data: section(DATA)?.body.length ?? 0,
  };
}

/** A name as it is written: without the hashes that tell apart what is compiled more than once. */
function plain(name) {
  return name.replace(/::h[0-9a-f]{16}$/, "").replace(/\[[0-9a-f]+\]/g, "");
}

/** The module of our own that a function belongs to, or whatever crate it is of. */
function group(name) {
  if (/^core::ptr::drop_in_place/.test(name)) return "drop_in_place";
  const own = /^<?(?:impl )?agent_sandbox_web::(\w+(?:::\w+)?)/.exec(name) ?? /<impl .*?agent_sandbox_web::(\w+(?:::\w+)?)/.exec(name);
  if (own !== null) return own[1].replace(/::[A-Z]\w*$/, "");
  const crate = /^<*&?(?:mut |dyn |impl )?([a-z_][a-z_0-9]*)::(\w+)?/.exec(name);
  if (crate === null) return "other";
  return ["core", "alloc", "std"].includes(crate[1]) ? `${crate[1]}::${crate[2]}` : crate[1];
}

function* read(bytes, from, to) {
  for (let at = from; at < to; ) {
    const id = bytes[at];
    const [length, start] = number(bytes, at + 1);
    at = start + length;
    yield { id, body: bytes.subarray(start, at) };
  }
}

/** The sizes of the functions in the section of code. */
function sizes(code) {
  let [count, at] = number(code, 0);
  const found = [];
  for (; count > 0; count--) {
    const [length, start] = number(code, at);
    at = start + length;
    found.push(length);
  }
  return found;
}

function importedFunctions(imports) {
  if (imports === undefined) return 0;
  let [count, at] = number(imports, 0);
  let functions = 0;
  for (; count > 0; count--) {
    for (let part = 0; part < 2; part++) at = text(imports, at)[1];
    const kind = imports[at];
    if (kind !== FUNCTION) throw new Error("core.wasm imports something else than functions: teach contributors.mjs to skip it");
    at = number(imports, at + 1)[1];
    functions += 1;
  }
  return functions;
}

function functionNames(customSections) {
  const names = new Map();
  for (const section of customSections) {
    const [title, start] = text(section, 0);
    if (title !== "name") continue;
    for (const { id, body } of read(section, start, section.length)) {
      if (id !== FUNCTION_NAMES) continue;
      let [count, at] = number(body, 0);
      for (; count > 0; count--) {
        const [index, next] = number(body, at);
        const [name, end] = text(body, next);
        names.set(index, name);
        at = end;
      }
    }
  }
  return names;
}

function text(bytes, at) {
  const [length, start] = number(bytes, at);
  return [new TextDecoder().decode(bytes.subarray(start, start + length)), start + length];
}

/** An unsigned number in LEB128, and where it ends. */
function number(bytes, at) {
  let [value, shift] = [0, 0];
  for (;;) {
    const byte = bytes[at++];
    value |= (byte & 127) << shift;
    shift += 7;
    if (byte < 128) return [value >>> 0, at];
  }
}
