import { inBrowsers, once } from "../lab.mjs";

/** Both builders write to one place, so each is built and tried before the next. */
export const cases = ["turbopack", "webpack"].flatMap((builder) => {
  const started = once(async (lab) => {
    await lab.end();
    await lab.sh(`next build --${builder}`);
    return lab.service("next start --port 0");
  });
  const route = (name, path) => ({
    name: `${builder}, ${name} route`,
    run: async (lab) => (await fetch(`${await started(lab)}${path}`)).text(),
  });
  return [...inBrowsers(`${builder}, client`, started), route("node", "/node"), route("edge", "/api/edge")];
});
