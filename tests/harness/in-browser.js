// The end-to-end suite inside of a page or a worker, through the package as a browser imports it natively.

import { runSuite as run } from "./suite.js";

let copies = 0;

export const runSuite = async (settings, print) =>
  run(await import("/pkg/dist/index.js"), settings, print, () => import(`/pkg/dist/index.js?fresh=${copies++}`), {
    config: await import("/pkg/dist/config.js"),
  });
