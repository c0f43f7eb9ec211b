// Making elements of an SVG. Text goes in as text.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== false));
  return element;
}

/** A text of at most `most` characters; what is cut is in its title. */
export function label(text, attributes, most = 40) {
  const full = String(text);
  if (full.length <= most) return svg("text", attributes, full);
  return svg("text", attributes, `${full.slice(0, most - 1)}…`, svg("title", {}, full));
}
