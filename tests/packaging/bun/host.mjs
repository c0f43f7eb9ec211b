export const cases = [
  { name: "run", run: (lab) => lab.sh("bun run shared/print.js") },
  {
    name: "its bundler, for itself",
    async run(lab) {
      await lab.sh("bun build shared/print.js --target=bun --outfile=dist/print.js");
      return lab.sh("bun run dist/print.js");
    },
  },
  {
    name: "types",
    expected: "",
    async run(lab) {
      lab.take("../types/consumer.ts");
      return lab.sh("tsc --project types.json");
    },
  },
];
