// The colours in use, for what lies behind a border that custom properties do not cross.

import { el } from "../base/dom.js";

const NAMES = { text: "--_text", ground: "--_surface", line: "--_line", "line-strong": "--_line-strong", accent: "--_accent", wash: "--_accent-wash" };

/**
 * Calls `apply` with the colours around `element`, and again when the page's theme changes. Answers a function that ends that.
 *
 * @param {Element} element
 * @param {(colours: Record<string, string>) => void} apply
 */
export function followTheme(element, apply) {
  // The value of a custom property is text; as a colour of an element it is the colour of the theme in use.
  const probe = el("span", { hidden: true });
  const read = () => {
    element.before(probe);
    const colours = {};
    for (const [name, property] of Object.entries(NAMES)) {
      probe.style.color = `var(${property})`;
      colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    apply(colours);
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  // How pages switch their theme: by an attribute of their root, or of the element itself.
  const observer = new MutationObserver(read);
  observer.observe(document.documentElement, { attributes: true });
  const host = element.getRootNode().host;
  if (host) observer.observe(host, { attributes: true, attributeFilter: ["theme", "style", "class"] });
  system.addEventListener("change", read);
  read();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", read);
  };
}
