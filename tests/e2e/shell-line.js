// Reads command lines as another client's recordings have them, where this one has words: enough of the shell's grammar for that.

/** A command line as a tree: `{ words }`, or `{ left, operator, right }` with `||`, `&&` or `|`. */
export function readLine(line) {
  const tokens = [...line.matchAll(/\|\||&&|[|()]|(?:'[^']*'|"[^"]*"|[^\s|&()'"])+/g)].map(([token]) => token);
  const list = () => {
    let left = pipeline();
    while (["||", "&&"].includes(tokens[0])) left = { left, operator: tokens.shift(), right: pipeline() };
    return left;
  };
  const pipeline = () => {
    let left = command();
    while (tokens[0] === "|") left = { left, operator: tokens.shift(), right: command() };
    return left;
  };
  const command = () => {
    if (tokens[0] === "(") {
      tokens.shift();
      const inner = list();
      tokens.shift();
      return inner;
    }
    const words = [];
    while (tokens.length > 0 && !["||", "&&", "|", ")"].includes(tokens[0])) words.push(unquoted(tokens.shift()));
    return { words };
  };
  return list();
}

/** The words of a line that is one command. */
export const wordsOf = (line) => readLine(line).words;

function unquoted(token) {
  return token.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double);
}

/** The commands that a shell would run, in order, when each succeeds as `succeeds(words)` says. `true` is part of the shell. */
export function commandsOf(line, succeeds) {
  const run = [];
  const walk = ({ words, left, operator, right }) => {
    if (words) {
      if (words[0] === "true") return true;
      run.push(words);
      return succeeds(words);
    }
    const is = walk(left);
    if (operator === "|") return walk(right);
    return (operator === "&&") === is ? walk(right) : is;
  };
  walk(readLine(line));
  return run;
}
