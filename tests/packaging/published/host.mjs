// What is published, by the rules that others check packages with.

/** They exist as modules and for `require`. */
const OVER_MAIN = ["code-interpreter", "config", "edge", "providers", "server", "terminal"];

const attw = (options) => (lab) => lab.sh(`attw "${lab.tarball}" --quiet ${options}`);

export const cases = [
  {
    name: "publint",
    expected: "All good!",
    run: async (lab) => (await lab.sh(`publint run --strict "${lab.tarball}"`)).split("\n").at(-1),
  },
  { name: "are the types wrong, main entry", expected: "", run: attw("--entrypoints .") },
  { name: "are the types wrong, entries over the main one", expected: "", run: attw(`--entrypoints ${OVER_MAIN.join(" ")} --profile node16`) },
  { name: "are the types wrong, entries that are modules only", expected: "", run: attw("--entrypoints slim url cdn --profile esm-only") },
];
