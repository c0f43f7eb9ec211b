// JSON as the server writes it: numbers that are none (NaN, Infinity) stand in it bare, which no parser accepts.

/** Strings, which are skipped, and the bare words. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

const MARK = "\u0000number:";

export function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    let found = false;
    const marked = text.replace(TOKENS, (token) => {
      if (token.startsWith('"')) return token;
      found = true;
      return JSON.stringify(MARK + token);
    });
    if (!found) throw error;
    return JSON.parse(marked, (_, value) => (typeof value === "string" && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value));
  }
}

/** An answer with names as JavaScript has them: `exit_code` becomes `exitCode`, at every depth. */
export function camel(value) {
  if (Array.isArray(value)) return value.map(camel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [camelName(key), camel(item)]));
}

/** The same for the outermost names alone. */
export function camelKeys(value) {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [camelName(key), item]));
}

function camelName(key) {
  return key.startsWith("_") ? key : key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** A time of the server: ISO 8601, or seconds since the epoch; undefined when there is none. */
export function time(value) {
  const date = typeof value === "number" ? new Date(value * 1000) : typeof value === "string" && value !== "" ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date;
}
