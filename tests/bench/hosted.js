// One contestant inside of a page or a Worker: the counterpart of `child.mjs` where there are no processes.

import { perform } from "./tasks.js";

/** Does a job with a contestant that is opened for it, after warming up, and answers the ms of each round. */
export async function performWith(open, target, { warm, ...job }) {
  const contestant = await open(target);
  if (warm) await perform(contestant, { ...job, ...warm, check: true });
  return perform(contestant, job);
}
