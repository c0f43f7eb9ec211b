// From values to places along an axis, and which values are named there.

/** How many names an axis has at most, for every hundred CSS pixels. */
const DENSITY = { x: 1.6, y: 2.4 };

/**
 * @typedef {object} Scale
 * @property {(value: number | string) => number} at The place of a value, in CSS pixels; NaN for what has none.
 * @property {{ value: number, label: string }[]} ticks
 */

/**
 * A scale that holds all `values`; undefined when the kind of scale cannot be drawn.
 *
 * @param {object} axis
 * @param {string} axis.kind A `ScaleType`.
 * @param {(number | string)[]} axis.values
 * @param {(number | string)[]} axis.ticks Those of the original plot.
 * @param {string[]} axis.labels
 * @param {[number, number]} axis.range From the first to the last place.
 * @param {"x" | "y"} axis.direction
 * @returns {Scale | undefined}
 */
export function scale({ kind, values, ticks = [], labels = [], range, direction }) {
  const most = Math.max(2, Math.floor((Math.abs(range[1] - range[0]) / 100) * DENSITY[direction]));
  if (kind === "categorical") return categories(values, range, most);
  const isTime = kind === "datetime";
  const isLog = kind === "log";
  if (!isTime && !isLog && kind !== "linear") return undefined;
  const number = isTime ? (value) => (typeof value === "number" ? value : Date.parse(value)) : Number;
  const usable = values.map(number).filter((value) => Number.isFinite(value) && (!isLog || value > 0));
  if (usable.length === 0) return undefined;
  // Not spread into arguments: there may be a million.
  let low = usable.reduce((least, value) => Math.min(least, value));
  let high = usable.reduce((most, value) => Math.max(most, value));
  const bend = isLog ? Math.log10 : (value) => value;
  const unbend = isLog ? (value) => 10 ** value : (value) => value;
  const margin = (bend(high) - bend(low)) * 0.04 || Math.abs(bend(low)) * 0.1 || 1;
  low = unbend(bend(low) - margin);
  high = unbend(bend(high) + margin);
  const at = (value) => {
    const bent = bend(number(value));
    return range[0] + ((bent - bend(low)) / (bend(high) - bend(low))) * (range[1] - range[0]);
  };
  const inside = (value) => value >= low && value <= high;
  const given = ticks.map((tick, i) => ({ value: number(tick), label: labels[i] || String(tick) })).filter(({ value }) => inside(value));
  const own = isTime || isLog ? [] : round(low, high, most);
  const named = given.length >= 2 && given.every(({ label }) => label !== "") ? given : own.length > 0 ? own : ends(low, high, isTime);
  return { at, ticks: thin(named, most) };
}

function categories(values, range, most) {
  const names = [...new Set(values.map(String))];
  const step = (range[1] - range[0]) / names.length;
  const at = (value) => range[0] + step * (names.indexOf(String(value)) + 0.5);
  return { at, ticks: thin(names.map((name) => ({ value: name, label: name })), most), step };
}

/** Round numbers between two others. */
function round(low, high, most) {
  const raw = (high - low) / most;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = magnitude * [1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= raw);
  const digits = Math.max(0, Math.min(8, -Math.floor(Math.log10(step)) + (step / magnitude === 2.5 ? 1 : 0)));
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    // Adding up leaves a little more or less than zero, which would be written as -0.
    const exact = Math.abs(value) < step / 1000 ? 0 : value;
    ticks.push({ value: exact, label: exact.toLocaleString("en", { maximumFractionDigits: digits }) });
  }
  return ticks;
}

function ends(low, high, isTime) {
  const label = isTime ? (value) => new Date(value).toISOString().slice(0, 10) : (value) => Number(value.toPrecision(3)).toString();
  return [low, high].map((value) => ({ value, label: label(value) }));
}

/** Every second one, or every third …, so that at most that many are left. */
function thin(ticks, most) {
  const every = Math.ceil(ticks.length / most);
  return every > 1 ? ticks.filter((_, i) => i % every === 0) : ticks;
}
