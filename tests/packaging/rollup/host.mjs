import { inBrowsers, once } from "../lab.mjs";

const page = once(async (lab) => {
  await lab.sh("rollup shared/page.js --plugin node-resolve --dir dist");
  return `${await lab.serve("dist")}/page.html`;
});

export const cases = inBrowsers("a page", page);
