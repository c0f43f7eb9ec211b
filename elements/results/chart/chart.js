// A chart drawn from its data: crisp at every size, in the colours of the page, with its numbers as a table. The image that the
// code made is kept beside it, because a drawing shows only what the data says.

import { button, el } from "../../base/dom.js";
import { image } from "../files.js";
import { KINDS, colour } from "./series.js";
import { svg } from "./svg.js";

/** Height for width, and the bounds of both, in CSS pixels. */
const RATIO = 0.56;
const WIDEST = 760;
const LOWEST = 220;

/** How many rows of a table are shown. */
const ROWS = 500;

/** Answers undefined when a chart is not of a known type, or has an axis that is not: then its image is what to show. */
export function chart(result, hold) {
  const parts = result.chart.type === "superchart" ? result.chart.elements : [result.chart];
  if (parts.length === 0 || !parts.every((part) => isDrawable(part))) return undefined;
  const figures = parts.map((part) => figure(part, hold));
  const drawing = el("div", { class: parts.length > 1 ? "charts" : "charts single" }, ...figures);
  const heading = parts.length > 1 && result.chart.title ? el("p", { class: "chart-title" }, result.chart.title) : undefined;
  const original = result.png ? image(result, "png", hold) : undefined;
  const place = el("div", { class: "chart-place", part: "chart" }, heading, drawing);
  if (!original) return place;
  original.hidden = true;
  const toggle = button("Original image", () => {
    original.hidden = !original.hidden;
    drawing.hidden = !original.hidden;
    toggle.setAttribute("aria-pressed", String(!original.hidden));
  }, { class: "button quiet", aria: { pressed: "false" } });
  place.append(original, el("p", { class: "chart-tools" }, toggle));
  return place;
}

function isDrawable(part) {
  const kind = KINDS[part.type];
  try {
    return kind !== undefined && part.elements.length > 0 && kind.draw(part, { width: 400, height: 240 }) !== undefined;
  } catch {
    // Data that is not as it should be.
    return false;
  }
}

function figure(part, hold) {
  const kind = KINDS[part.type];
  const names = kind.legend(part);
  const title = part.title || `${NAMES[part.type]} chart`;
  const drawing = svg("svg", { class: "chart", role: "img", "aria-label": describe(part, names) });
  let drawn = 0;
  const draw = (available) => {
    const width = Math.min(WIDEST, Math.max(240, Math.floor(available)));
    if (width === drawn) return;
    drawn = width;
    const height = Math.max(LOWEST, Math.round(width * RATIO));
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("width", String(width));
    drawing.setAttribute("height", String(height));
    drawing.replaceChildren(...kind.draw(part, { width, height }).filter(Boolean));
  };
  const frame = el(
    "figure",
    { class: "chart-figure" },
    part.title && el("figcaption", { class: "chart-title" }, title),
    names.length > 0 && legend(names),
    drawing,
    table(kind, part),
  );
  draw(560);
  const observer = new ResizeObserver(([entry]) => draw(entry.contentRect.width));
  observer.observe(frame);
  hold(() => observer.disconnect());
  return frame;
}

const NAMES = { line: "Line", scatter: "Scatter", bar: "Bar", pie: "Pie", box_and_whisker: "Box" };

function describe(part, names) {
  const axes = [part.x_label, part.y_label].filter(Boolean).join(" against ");
  return [`${NAMES[part.type]} chart`, part.title, axes, names.slice(0, 10).join(", "), "The data follows as a table."].filter(Boolean).join(". ");
}

function legend(names) {
  return el("ul", { class: "legend" }, ...names.slice(0, 20).map((name, i) => el("li", {}, el("span", { class: `swatch ${colour(i)}` }), name)));
}

/** The numbers, made when they are asked for. */
function table(kind, part) {
  const details = el("details", { class: "chart-data" }, el("summary", {}, "Data"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const { head, rows } = kind.table(part);
    const cells = (tag, values) => el("tr", {}, ...values.map((value) => el(tag, {}, value)));
    const body = el("tbody", {}, ...rows.slice(0, ROWS).map((row) => cells("td", row)));
    const label = { label: "Data of the chart" };
    details.append(el("div", { class: "chart-table", tabIndex: 0, role: "group", aria: label }, el("table", {}, el("thead", {}, cells("th", head)), body)));
    if (rows.length > ROWS) details.append(el("p", { class: "note" }, `${(rows.length - ROWS).toLocaleString("en")} more rows are not shown.`));
  });
  return details;
}
