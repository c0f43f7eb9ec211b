// The frame of a chart with two axes: where the plot lies, grid, ticks, names.

import { scale } from "./scale.js";
import { label, svg } from "./svg.js";

/** About as wide as one character of a tick is, in CSS pixels. */
const CHARACTER = 6.6;

/**
 * Answers `{ x, y, area, elements }`, or undefined when an axis cannot be drawn.
 *
 * @param {{ width: number, height: number }} size
 * @param {{ label?: string | null, kind: string, values: unknown[], ticks?: unknown[], labels?: string[] }} x
 * @param {{ label?: string | null, kind: string, values: unknown[], ticks?: unknown[], labels?: string[] }} y
 */
export function axes({ width, height }, x, y) {
  const top = 10;
  const bottom = height - (x.label ? 46 : 28);
  const vertical = scale({ ...y, range: [bottom, top], direction: "y" });
  if (!vertical) return undefined;
  const widest = vertical.ticks.reduce((most, tick) => Math.max(most, tick.label.length), 1);
  const left = Math.min(width / 3, widest * CHARACTER + (y.label ? 30 : 14));
  const right = width - 14;
  const horizontal = scale({ ...x, range: [left, right], direction: "x" });
  if (!horizontal) return undefined;
  const room = Math.max(4, Math.floor((right - left) / Math.max(1, horizontal.ticks.length) / CHARACTER));
  const elements = [
    ...vertical.ticks.flatMap((tick) => {
      const at = vertical.at(tick.value);
      return [
        svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
        label(tick.label, { class: "tick", x: left - 8, y: at, "text-anchor": "end", "dominant-baseline": "central" }, 24),
      ];
    }),
    ...horizontal.ticks.map((tick) => label(tick.label, { class: "tick", x: horizontal.at(tick.value), y: bottom + 18, "text-anchor": "middle" }, room)),
    svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    x.label && label(x.label, { class: "axis-name", x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, 60),
    y.label && label(y.label, { class: "axis-name", x: 12, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})` }, 40),
  ];
  return { x: horizontal, y: vertical, area: { left, right, top, bottom }, elements };
}
