import { inBrowsers, once } from "../lab.mjs";

const build = (script, target, mode) => `webpack ./shared/${script}.js --target ${target} --mode ${mode} --devtool source-map -o dist-${mode} --output-filename ${script}.js`;

const page = (mode) =>
  once(async (lab) => {
    await lab.sh(build("page", "web", mode));
    return `${await lab.serve(`dist-${mode}`)}/page.html`;
  });

const worker = once(async (lab) => {
  await lab.sh(build("worker", "webworker", "production"));
  return `${await lab.serve("dist-production")}/worker.html`;
});

export const cases = [
  ...inBrowsers("web", page("production")),
  ...inBrowsers("web, development", page("development")),
  ...inBrowsers("webworker", worker),
];
