// A suite's rows as a table for people.

const COLUMNS = ["work", "unit", "ours", "others", "target"];

/** A line about a row, as soon as it is known. */
export function lineOf({ name, unit, figures, targets }) {
  const cells = Object.entries(figures).map(([who, figure]) => `${who} ${cell(figure)}`);
  return `  ${name}, ${unit}: ${cells.join(" · ")}${targets.length ? ` → ${targets.map(verdict).join("; ")}` : ""}`;
}

/** All rows as a Markdown table. */
export function tableOf(rows) {
  const lines = rows.map(({ name, unit, figures, targets }) => {
    const { ours, ...others } = figures;
    const rest = Object.entries(others).map(([who, figure]) => `${who} ${cell(figure)}`);
    return [name, unit, ours ? cell(ours) : "", rest.join("<br>"), targets.map(verdict).join("<br>")];
  });
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(COLUMNS), line(["---", "---", "---:", "---", "---"]), ...lines.map(line)].join("\n");
}

function cell({ median, min, max }) {
  return min === max ? text(median) : `${text(median)} (${text(min)}–${text(max)})`;
}

function verdict({ text: target, actual, unit, met }) {
  const found = unit ? "" : `${text(actual)} ×, `;
  return met === null ? `${text(actual)} × ${target.replace(/^to /, "")}` : `${found}target ${target}: ${met ? "met" : "**missed**"}`;
}

function text(value) {
  if (value >= 10_000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
