// Medians, spreads, ratios, and what a target says about them.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), values };
}

/**
 * How many times another's figure ours is: the median over the repetitions, in each of which the two ran one after the
 * other. What a busy machine does to both cancels out.
 */
export function ratio(figures, of, to) {
  return median(figures[of].values.map((value, repetition) => value / figures[to].values[repetition]));
}

/** Targets: functions of a row's figures. `ours` is who has to meet it. */
export const atLeast = (times, to, ours = "ours") => (figures) => {
  const actual = ratio(figures, ours, to);
  return { text: `≥ ${times} × ${to}`, actual, met: actual >= times };
};

export const atMost = (times, to, ours = "ours") => (figures) => {
  const actual = ratio(figures, ours, to);
  return { text: `≤ ${times} × ${to}`, actual, met: actual <= times };
};

/** No target, only the ratio. */
export const beside = (to, ours = "ours") => (figures) => ({ text: `to ${to}`, actual: ratio(figures, ours, to), met: null });

export const below = (limit, unit, ours = "ours") => (figures) => {
  const actual = figures[ours].median;
  return { text: `≤ ${limit} ${unit}`, actual, unit, met: actual <= limit };
};

/** A row whose figures are of ever more work, by name: the last may be at most so many times the first. */
export const flat = (names, times) => (figures) => {
  const actual = figures[names.at(-1)].median / figures[names[0]].median;
  return { text: `${names.at(-1)} ≤ ${times} × ${names[0]}`, actual, met: actual <= times };
};
