import { inBrowsers, once } from "../lab.mjs";

const built = once(async (lab) => {
  await lab.sh("vite build");
  return lab.serve("dist");
});

const developed = once((lab) => lab.service("vite dev --port 0 --host 127.0.0.1"));

export const cases = [...inBrowsers("build", built), ...inBrowsers("dev", developed)];
