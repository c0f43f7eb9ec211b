// A strict consumer of the types, in the environments that differ: each has only the global types that its runtime has.
// Those of Vercel's edge runtime are the page's.

export const cases = [
  ...["page", "web-worker", "node", "workerd"].map((environment) => ({
    name: environment,
    expected: "",
    async run(lab) {
      lab.take("../types/consumer.ts", "../types/init.ts");
      return lab.sh(`tsc --project ${environment}.json`);
    },
  })),
  {
    name: "deno",
    expected: "",
    async run(lab) {
      lab.take("../types/consumer.ts", "../types/init.ts");
      return lab.sh("deno check --quiet consumer.ts init.ts");
    },
  },
];
