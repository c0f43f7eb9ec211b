// Which of some names was probably meant.

/** The name of `names` that is at most a few typing errors away from `name`, or undefined. */
export function nearest(name, names) {
  // What is longer than any name is none, and would only take time.
  if (name.length > 80) return undefined;
  let best;
  let least = Math.max(1, Math.min(3, Math.floor(name.length / 4))) + 1;
  for (const candidate of names) {
    const steps = distance(name, candidate);
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** How many letters must be put in, left out, replaced or exchanged with their neighbour. */
function distance(a, b) {
  let [before, last, row] = [[], [], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    [before, last, row] = [last, row, [i]];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.length];
}
