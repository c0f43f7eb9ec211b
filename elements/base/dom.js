// Making and filling elements. Text always goes in as text: nothing here turns a string into markup.

/**
 * A new element. `props` are properties of the element (`class` and `data` are short for `className` and `dataset`, `on` holds
 * listeners, `aria` attributes, `part` the names for `::part`); children are elements, strings, or nothing.
 */
export function el(tag, { class: className, data, on, aria, part, ...props } = {}, ...children) {
  const element = document.createElement(tag);
  if (className !== undefined) element.className = className;
  if (part !== undefined) element.setAttribute("part", part);
  Object.assign(element.dataset, data);
  for (const [event, listener] of Object.entries(on ?? {})) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(aria ?? {})) element.setAttribute(`aria-${name}`, value);
  Object.assign(element, props);
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A button that calls `run` with its click. */
export function button(label, run, { class: className = "button", ...props } = {}) {
  return el("button", { type: "button", class: className, part: "button", on: { click: run }, ...props }, label);
}

/** Offers a Blob as a download under that name. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  // The browser has begun to read it when the click has been handled, but not at once in every browser.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Waits for the next time that the page is drawn, or for `limit` ms: hidden pages draw nothing. */
export function nextFrame(limit = 250) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limit);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
