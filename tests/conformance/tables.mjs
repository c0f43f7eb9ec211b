// Reads the tables: one TOML file for each section, and the list of deliberate deviations.
//
// A section has
//
// | key         | what it is                                                                                  |
// |-------------|---------------------------------------------------------------------------------------------|
// | title       | what it is about                                                                            |
// | service     | what its requests go to unless they say otherwise: `envd`, `api`, `proxy`, `interpreter`    |
// | direct      | whether its requests are for the daemon itself, and do not get through to it as a sandbox's traffic |
// | check       | the checks                                                                                  |
//
// and a check
//
// | key         | what it is                                                                                  |
// |-------------|---------------------------------------------------------------------------------------------|
// | number      | its number, the same as long as the check is about the same                                 |
// | title       | what is expected, in a few words                                                            |
// | steps       | requests and what is expected of their answers, see steps.mjs                               |
// | secured     | the daemon has an access token, in `<token>`                                                |
// | init        | further settings of the daemon                                                              |
// | fresh       | the daemon has no settings yet                                                              |
// | installs    | the check itself installs the token, which cannot be removed again                          |
// | files       | files that exist, and their content                                                         |
// | sandbox     | with which options the check's sandbox is made, in `<id>`                                   |
// | own         | the check has a sandbox with an interpreter to itself                                       |
// | context     | the language of the context in which its code runs, or false for none                       |
// | slow        | it mostly waits, so it runs beside the others from the beginning                            |
// | needs       | variables without which it cannot run, each with the reason; `--set NAME=VALUE` sets them   |
// | fatal       | what it does to a server that has the flaw it looks for; only the local server is asked     |
//
// The tables say what the original does, flaws included. Where the local server does something else on purpose, the check is
// listed in deviations.toml with the reason and with the steps that hold instead.

import { readdirSync, readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { fault } from "./steps.mjs";

const FOLDER = new URL("./", import.meta.url);
const DEVIATIONS = "deviations.toml";
const SECTION = ["title", "service", "direct", "check"];
const CHECK = "number title steps secured init fresh installs files sandbox own context slow needs fatal".split(" ");
const DEVIATION = ["number", "reason", "steps"];

/** All checks in order, each with its section and, where the local server deviates, with its deviation. */
export function readTables() {
  const names = readdirSync(FOLDER).filter((name) => /^[a-z]-[\w-]+\.toml$/u.test(name));
  const checks = names.sort().flatMap((name) => readSection(name));
  const numbers = new Map();
  for (const check of checks) {
    if (numbers.has(check.number)) throw new Error(`there are two checks ${check.number}`);
    numbers.set(check.number, check);
  }
  for (const deviation of read(DEVIATIONS).deviation ?? []) {
    known(deviation, DEVIATION, DEVIATIONS);
    const check = numbers.get(deviation.number);
    if (check === undefined || check.deviation !== undefined) {
      throw new Error(`${DEVIATIONS}: ${deviation.number} is no check, or is listed twice`);
    }
    sound(deviation.steps, `${DEVIATIONS}, ${deviation.number}`);
    check.deviation = deviation;
  }
  return checks;
}

function readSection(name) {
  const section = read(name);
  known(section, SECTION, name);
  const letter = name[0].toUpperCase();
  return section.check.map((check) => {
    known(check, CHECK, name);
    sound(check.steps, `${name}, ${check.number}`);
    return { ...check, section: { letter, title: section.title, service: section.service, direct: section.direct } };
  });
}

function read(name) {
  try {
    return parse(readFileSync(new URL(name, FOLDER), "utf8"));
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

function known(table, keys, place) {
  const unknown = Object.keys(table).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw new Error(`${place}: unknown key "${unknown}"`);
}

function sound(steps, place) {
  if (!Array.isArray(steps) || steps.length === 0) throw new Error(`${place}: there are no steps`);
  for (const step of steps) {
    const problem = fault(step);
    if (problem !== undefined) throw new Error(`${place}: ${problem}`);
  }
}

/** Whether a check is meant by a filter such as `A,58,100-109`, or by a part of its title. */
export function chosen(filter) {
  if (!filter) return () => true;
  const parts = filter.split(",").map((part) => part.trim());
  if (parts.some((part) => !/^([A-Za-z]|\d+(-\d+)?)$/u.test(part))) return ({ title }) => title.includes(filter);
  return ({ number, section }) =>
    parts.some((part) => {
      if (/^[A-Za-z]$/u.test(part)) return part.toUpperCase() === section.letter;
      const [first, last = first] = part.split("-").map(Number);
      return first <= number && number <= last;
    });
}
