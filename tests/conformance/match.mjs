// Compares what came with what a table expects.
//
// | expected                | matches                                                                    |
// |-------------------------|----------------------------------------------------------------------------|
// | "text", 7, true         | the same value                                                             |
// | "*"                     | anything that is there                                                     |
// | "-"                     | nothing: absent, null, "", 0, false, an empty list or table                |
// | "^expression"           | text in which the regular expression is found                              |
// | "~ part"                | text that contains the part                                                |
// | "%number", "%string"    | a value of the type                                                        |
// | {}                      | an empty table                                                             |
// | { key = … }             | a table that has at least these keys                                       |
// | { min = 1, max = 2 }    | a number in the range; either end may be missing                           |
// | { in_seconds = 15 }     | a time so far from now, give or take ten seconds (or `give` seconds)       |
// | { not = … }             | whatever the inner expectation does not match                              |
// | { any = [a, b] }        | what one of them matches                                                   |
// | { all = [a, b] }        | what each of them matches                                                  |
// | { distinct = "key" }    | a list in which no two elements have the same value of the key              |
// | [a, "...", b]           | a list; "..." stands for any number of elements                            |

/** What differs, one line each; nothing when `actual` is as expected. `path` says where in the answer it is. */
export function compare(expected, actual, path) {
  if (typeof expected === "string") return text(expected, actual, path);
  if (Array.isArray(expected)) return list(expected, actual, path);
  if (typeof expected === "object" && expected !== null) return table(expected, actual, path);
  return expected === actual ? [] : [differs(path, expected, actual)];
}

const differs = (path, expected, actual) => `${path}: expected ${show(expected)}, got ${show(actual)}`;

/** A value as one line that is not endless. */
export function show(value, length = 400) {
  const line = value === undefined ? "nothing" : JSON.stringify(value);
  return line.length > length ? `${line.slice(0, length)}… (${line.length} characters)` : line;
}

function text(expected, actual, path) {
  return isText(expected, actual) ? [] : [differs(path, expected, actual)];
}

function isText(expected, actual) {
  const there = actual !== undefined && actual !== null;
  if (expected === "*") return there;
  if (expected === "-") return isNothing(actual);
  if (expected.startsWith("%")) return typeof actual === expected.slice(1);
  if (expected.startsWith("^")) return there && new RegExp(expected, "u").test(String(actual));
  if (expected.startsWith("~ ")) return there && String(actual).includes(expected.slice(2));
  return expected === actual;
}

function isNothing(value) {
  if (value === undefined || value === null || value === "" || value === 0 || value === "0" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function table(expected, actual, path) {
  const keys = Object.keys(expected);
  const only = (...names) => keys.length > 0 && keys.every((key) => names.includes(key));
  if (only("min", "max")) {
    const { min = -Infinity, max = Infinity } = expected;
    return typeof actual === "number" && actual >= min && actual <= max ? [] : [differs(path, expected, actual)];
  }
  if (only("in_seconds", "give")) {
    const distance = Math.abs(Date.parse(actual) - Date.now() - expected.in_seconds * 1000);
    return distance <= (expected.give ?? 10) * 1000 ? [] : [differs(path, expected, actual)];
  }
  if (only("not")) return compare(expected.not, actual, path).length > 0 ? [] : [differs(path, expected, actual)];
  if (only("any")) {
    return expected.any.some((one) => compare(one, actual, path).length === 0) ? [] : [differs(path, expected, actual)];
  }
  if (only("distinct")) {
    const values = Array.isArray(actual) ? actual.map((element) => element[expected.distinct]) : [];
    return new Set(values).size === values.length ? [] : [differs(path, expected, actual)];
  }
  if (only("all")) return expected.all.flatMap((one) => compare(one, actual, path));
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) {
    // A table of which nothing is expected may be left out, as in every encoding that omits zero values.
    return keys.length > 0 && keys.every((key) => expected[key] === "-") && isNothing(actual) ? [] : [differs(path, expected, actual)];
  }
  if (keys.length === 0) return Object.keys(actual).length === 0 ? [] : [differs(path, expected, actual)];
  return keys.flatMap((key) => compare(expected[key], actual[key], path === "" ? key : `${path}.${key}`));
}

function list(expected, actual, path) {
  if (!Array.isArray(actual)) return isNothing(actual) && expected.length === 0 ? [] : [differs(path, expected, actual)];
  if (expected.includes("...")) return matches(expected, actual) ? [] : [differs(path, expected, actual)];
  if (expected.length !== actual.length) return [differs(path, expected, actual)];
  return expected.flatMap((one, index) => compare(one, actual[index], `${path}[${index}]`));
}

/** Whether the elements match, where "..." may skip some. */
function matches([first, ...expected], actual) {
  if (first === undefined) return actual.length === 0;
  if (first === "...") return actual.some((_, index) => matches(expected, actual.slice(index))) || matches(expected, []);
  return actual.length > 0 && compare(first, actual[0], "").length === 0 && matches(expected, actual.slice(1));
}
