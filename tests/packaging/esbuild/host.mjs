import { inBrowsers, once } from "../lab.mjs";

const page = once(async (lab) => {
  await lab.sh("esbuild shared/page.js --bundle --outdir=dist");
  return `${await lab.serve("dist")}/page.html`;
});

const minified = once(async (lab) => {
  await lab.sh("esbuild shared/page.js --bundle --minify --format=esm --splitting --outdir=dist-minified");
  return `${await lab.serve("dist-minified")}/page.html`;
});

export const cases = [
  ...inBrowsers("a page", page),
  ...inBrowsers("a page, minified", minified),
  {
    name: "a program for Node",
    async run(lab) {
      await lab.sh("esbuild shared/print.js --bundle --platform=node --format=esm --outfile=dist-node/print.mjs");
      return lab.sh("node dist-node/print.mjs");
    },
  },
];
