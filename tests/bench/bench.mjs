// One run of the benchmark: repetitions in alternating order, and the rows that come of them.

import { startContestant } from "./processes.mjs";
import { median, spread } from "./figures.mjs";

export class Bench {
  /** All rows so far. */
  rows = [];
  #kept = new Map();

  /** `quick` does little of everything, once, and keeps processes where that is quicker. */
  constructor({ repetitions, quick, print }) {
    Object.assign(this, { repetitions: quick ? 1 : repetitions, quick, print });
  }

  /** A count for the real run, or the one for a quick run. */
  pick(real, quick) {
    return this.quick ? quick : real;
  }

  /**
   * Calls `run` with each of `names` in each repetition. Another one is the first each time, so that what one leaves to
   * the next (a warm page cache, a busy machine) is left to all of them. Answers the results by name.
   */
  async alternate(names, run) {
    const results = Object.fromEntries(names.map((name) => [name, []]));
    for (let repetition = 0; repetition < this.repetitions; repetition += 1) {
      for (let turn = 0; turn < names.length; turn += 1) {
        const name = names[(repetition + turn) % names.length];
        results[name].push(await run(name));
      }
    }
    return results;
  }

  /** Lets `contestants` do a job, each time in a fresh process. */
  compare(contestants, target, job) {
    return this.alternate(contestants, async (name) => {
      const { child, release } = this.#contestant(name, target);
      try {
        return await child.perform(job);
      } finally {
        await release();
      }
    });
  }

  #contestant(name, target, runtime) {
    if (!this.quick) {
      const child = startContestant(name, target, runtime);
      return { child, release: child.end };
    }
    const key = `${name} ${target.url}`;
    if (!this.#kept.has(key)) this.#kept.set(key, startContestant(name, target, runtime));
    return { child: this.#kept.get(key), release: async () => {} };
  }

  /**
   * Adds a row: `figure` makes a number of each result. `targets` are of `figures.mjs`; each says whether it was met. Of a
   * quick run nobody may conclude anything.
   */
  row(name, unit, results, figure, targets = []) {
    const figures = {};
    for (const [contestant, list] of Object.entries(results)) figures[contestant] = spread(list.map(figure));
    const row = { name, unit, figures, targets: this.quick ? [] : targets.map((target) => target(figures)) };
    this.rows.push(row);
    this.print(row);
  }

  async end() {
    await Promise.all([...this.#kept.values()].map((child) => child.end()));
  }
}

/** The ms of a job that has one round, or the median of its rounds. */
export const ms = ({ samples }) => median(samples);
export const cpuMs = ({ cpuMs }) => cpuMs;
export const peakMb = ({ peakKb }) => peakKb / 1024;
