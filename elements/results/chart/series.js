// The kinds of charts: each draws its elements into an SVG of a given size, and says what a table of its data has.

import { axes } from "./axes.js";
import { svg } from "./svg.js";

/** How many points are drawn as marks that can be pointed at; more would only be slow. */
const MARKS = 2_000;

/** How many colours there are. */
const COLOURS = 6;

const colour = (i) => `series-${(i % COLOURS) + 1}`;

/** Names that matplotlib gives what has none. */
const isNamed = (name) => typeof name === "string" && name !== "" && !/^(_child\d+|Line \d+|Group \d+|_.*)$/.test(name);

const text = (value) => (typeof value === "number" ? Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 }) : String(value ?? ""));

const nameOf = (element, i) => (isNamed(element.label) ? element.label : `Series ${i + 1}`);

function points(chart, size, draw) {
  const all = chart.elements.flatMap((element) => element.points);
  const axis = (i, name) => ({
    label: chart[`${name}_label`],
    kind: chart[`${name}_scale`],
    values: all.map((point) => point[i]),
    ticks: chart[`${name}_ticks`],
    labels: chart[`${name}_tick_labels`],
  });
  const frame = axes(size, axis(0, "x"), axis(1, "y"));
  if (!frame) return undefined;
  const place = ([x, y]) => [frame.x.at(x), frame.y.at(y)];
  return [...frame.elements, ...chart.elements.map((element, i) => draw(element, i, place, all.length <= MARKS))];
}

const mark = ([x, y], point, name, radius) =>
  svg("circle", { class: "mark", cx: x, cy: y, r: radius }, svg("title", {}, `${name}: ${text(point[0])}, ${text(point[1])}`));

const legendOf = (chart) => (chart.elements.some(({ label }) => isNamed(label)) ? chart.elements.map(nameOf) : []);

const pointTable = (chart) => ({
  head: ["Series", chart.x_label || "x", chart.y_label || "y"],
  rows: chart.elements.flatMap((element, i) => element.points.map(([x, y]) => [nameOf(element, i), text(x), text(y)])),
});

const line = {
  draw: (chart, size) =>
    points(chart, size, (element, i, place, isMarked) => {
      const placed = element.points.map(place);
      // A point without a place, such as NaN, interrupts the line.
      let isOpen = false;
      const path = placed.map(([x, y]) => {
        if (!Number.isFinite(x) || !Number.isFinite(y)) return (isOpen = false), "";
        const step = `${isOpen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
        isOpen = true;
        return step;
      });
      const marks = isMarked ? element.points.map((point, k) => Number.isFinite(placed[k][0] + placed[k][1]) && mark(placed[k], point, nameOf(element, i), 3)) : [];
      const sparse = element.points.length <= 40 ? "sparse" : "dense";
      return svg("g", { class: `${colour(i)} ${sparse}` }, svg("path", { class: "line-path", d: path.join("") }), ...marks);
    }),
  legend: legendOf,
  table: pointTable,
};

const scatter = {
  draw: (chart, size) =>
    points(chart, size, (element, i, place, isMarked) => {
      const drawn = isMarked ? element.points : element.points.slice(0, MARKS * 5);
      const circles = drawn.map((point) => {
        const placed = place(point);
        return Number.isFinite(placed[0] + placed[1]) && mark(placed, point, nameOf(element, i), isMarked ? 4 : 2);
      });
      return svg("g", { class: `${colour(i)} dots` }, ...circles);
    }),
  legend: legendOf,
  table: pointTable,
};

const bar = {
  draw(chart, size) {
    const groups = [...new Set(chart.elements.map(({ group }) => group))];
    const values = chart.elements.map(({ value }) => Number(value)).filter(Number.isFinite);
    const frame = axes(
      size,
      { label: chart.x_label, kind: "categorical", values: chart.elements.map((element) => element.label) },
      { label: chart.y_label, kind: "linear", values: [0, ...values] },
    );
    if (!frame) return undefined;
    const zero = frame.y.at(0);
    const width = Math.max(1, (Math.abs(frame.x.step) * 0.72) / groups.length);
    const bars = chart.elements.map(({ label, group, value }) => {
      const i = groups.indexOf(group);
      const x = frame.x.at(label) + (i - groups.length / 2) * width;
      const y = frame.y.at(Number(value));
      if (!Number.isFinite(y)) return undefined;
      const title = `${isNamed(group) ? `${group}, ` : ""}${label}: ${text(Number(value))}`;
      return svg("rect", { class: `${colour(i)} bar-mark`, x, y: Math.min(y, zero), width, height: Math.abs(y - zero), rx: Math.min(2, width / 4) }, svg("title", {}, title));
    });
    return [...frame.elements, ...bars, svg("line", { class: "axis", x1: frame.area.left, x2: frame.area.right, y1: zero, y2: zero })];
  },
  legend(chart) {
    const groups = [...new Set(chart.elements.map(({ group }) => group))];
    return groups.length > 1 || isNamed(groups[0]) ? groups : [];
  },
  table: (chart) => ({
    head: ["Bar", "Group", chart.y_label || "Value"],
    rows: chart.elements.map(({ label, group, value }) => [label, isNamed(group) ? group : "", text(Number(value))]),
  }),
};

const pie = {
  draw(chart, { width, height }) {
    const total = chart.elements.reduce((sum, { angle }) => sum + Math.max(0, angle), 0);
    if (!(total > 0)) return undefined;
    const [x, y, radius] = [width / 2, height / 2, Math.min(width, height) / 2 - 10];
    let turn = -Math.PI / 2;
    return chart.elements.map(({ label, angle }, i) => {
      const part = Math.max(0, angle) / total;
      const title = svg("title", {}, `${label}: ${(part * 100).toFixed(1)} %`);
      // An arc that ends where it begins is none.
      if (part > 0.9999) return svg("circle", { class: `${colour(i)} slice`, cx: x, cy: y, r: radius }, title);
      const [from, to] = [turn, (turn += part * 2 * Math.PI)];
      const end = (at) => `${(x + radius * Math.cos(at)).toFixed(2)} ${(y + radius * Math.sin(at)).toFixed(2)}`;
      const path = `M${x} ${y}L${end(from)}A${radius} ${radius} 0 ${part > 0.5 ? 1 : 0} 1 ${end(to)}Z`;
      return svg("path", { class: `${colour(i)} slice`, d: path }, title);
    });
  },
  legend(chart) {
    const total = chart.elements.reduce((sum, { angle }) => sum + Math.max(0, angle), 0);
    return chart.elements.map(({ label, angle }) => `${label} (${((angle / total) * 100).toFixed(1)} %)`);
  },
  table(chart) {
    const total = chart.elements.reduce((sum, { angle }) => sum + Math.max(0, angle), 0);
    return { head: ["Slice", "Share"], rows: chart.elements.map(({ label, angle }) => [label, `${((angle / total) * 100).toFixed(1)} %`]) };
  },
};

const box = {
  draw(chart, size) {
    const numbers = chart.elements.flatMap(({ min, max, first_quartile, median, third_quartile, outliers }) => [min, max, first_quartile, median, third_quartile, ...outliers]);
    const frame = axes(
      size,
      { label: chart.x_label, kind: "categorical", values: chart.elements.map(({ label }) => label) },
      { label: chart.y_label, kind: "linear", values: numbers },
    );
    if (!frame) return undefined;
    const width = Math.min(70, Math.abs(frame.x.step) * 0.5);
    const boxes = chart.elements.map((element) => {
      const { label, min, max, first_quartile, median, third_quartile, outliers } = element;
      const x = frame.x.at(label);
      const y = frame.y.at;
      const title = `${label}: ${text(min)}, ${text(first_quartile)}, ${text(median)}, ${text(third_quartile)}, ${text(max)}`;
      const cap = (value) => svg("line", { class: "whisker", x1: x - width / 4, x2: x + width / 4, y1: y(value), y2: y(value) });
      return svg(
        "g",
        { class: "series-1" },
        svg("line", { class: "whisker", x1: x, x2: x, y1: y(min), y2: y(first_quartile) }),
        svg("line", { class: "whisker", x1: x, x2: x, y1: y(third_quartile), y2: y(max) }),
        cap(min),
        cap(max),
        svg("rect", { class: "box", x: x - width / 2, y: y(third_quartile), width, height: Math.abs(y(first_quartile) - y(third_quartile)) }, svg("title", {}, title)),
        svg("line", { class: "median", x1: x - width / 2, x2: x + width / 2, y1: y(median), y2: y(median) }),
        ...outliers.map((value) => svg("circle", { class: "outlier", cx: x, cy: y(value), r: 3.5 }, svg("title", {}, `${label}: ${text(value)}`))),
      );
    });
    return [...frame.elements, ...boxes];
  },
  legend: () => [],
  table: (chart) => ({
    head: ["Group", "Minimum", "First quartile", "Median", "Third quartile", "Maximum", "Outliers"],
    rows: chart.elements.map(({ label, min, first_quartile, median, third_quartile, max, outliers }) => [
      label,
      ...[min, first_quartile, median, third_quartile, max].map(text),
      outliers.map(text).join(", "),
    ]),
  }),
};

/** How each type of chart is drawn; those that are missing are shown as the image that came with them. */
export const KINDS = { line, scatter, bar, pie, box_and_whisker: box };

export { colour };
