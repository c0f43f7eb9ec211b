// A frame for sanitised HTML: it has no scripts, its policy lets it load nothing, and its styles stay inside.

import { el } from "../base/dom.js";
import { followTheme } from "./theme.js";
import { safeDeclarations, safeRules } from "./safe-styles.js";
import styles from "./html-frame.css";

/** How high a frame becomes before it scrolls, in CSS pixels. */
const HIGHEST = 480;

/** What is around its content, in CSS pixels: the body's padding, and a scroll bar's thin edge. */
const MARGIN = 8;

/** What the frame may load: nothing but images that are part of the text. */
const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";

/**
 * @param {DocumentFragment} content
 * @param {(release: () => void) => void} hold
 */
export function htmlFrame(content, hold) {
  const sheets = [...content.querySelectorAll("style")].map((style) => {
    style.remove();
    return style.textContent;
  });
  const frame = el("iframe", { class: "html", part: "html", title: "HTML result" });
  // Of the page's origin, so that its height can be measured and its styles be set; without scripts nobody in it makes use of that.
  frame.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
  frame.setAttribute("referrerpolicy", "no-referrer");
  const releases = [];
  const release = () => releases.splice(0).forEach((one) => one());
  hold(release);
  // A frame that is moved within the page is loaded again, and is empty.
  frame.addEventListener("load", () => {
    release();
    fill(frame, content, sheets, releases);
  });
  return frame;
}

function fill(frame, content, sheets, releases) {
  const { contentDocument: page, contentWindow: view } = frame;
  if (!page?.body) return;
  const policy = page.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = POLICY;
  page.head.replaceChildren(policy);

  const ours = new view.CSSStyleSheet();
  ours.replaceSync(styles);
  page.adoptedStyleSheets = [ours, ...sheets.map((text) => safeRules(text, view))];
  // Measured in place of the body, which is as high as its window.
  const inside = page.createElement("div");
  inside.append(page.importNode(content, true));
  page.body.replaceChildren(inside);
  for (const element of page.body.querySelectorAll("[style]")) safeDeclarations(element);

  const fit = () => {
    const height = inside.offsetHeight + MARGIN;
    frame.style.height = `${Math.min(height, HIGHEST)}px`;
    // What can be scrolled must be reachable with the keyboard.
    if (height > HIGHEST) page.body.tabIndex = 0;
  };
  const observer = new view.ResizeObserver(fit);
  observer.observe(inside);
  fit();
  releases.push(
    () => observer.disconnect(),
    followTheme(frame, (colours) => {
      for (const [name, value] of Object.entries(colours)) page.documentElement.style.setProperty(`--${name}`, value);
    }),
  );
}
