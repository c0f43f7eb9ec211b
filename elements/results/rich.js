// Markup that code in the sandbox made: sanitised, and HTML in a frame of its own as well. Loaded with the first such result.

import createDOMPurify from "dompurify";
import { marked } from "marked";

import { el } from "../base/dom.js";
import { pictureOf } from "./files.js";
import { htmlFrame } from "./html-frame.js";

/** What asks for input, plays, embeds or loads. */
const NO_TAGS = ["form", "input", "button", "textarea", "select", "option", "dialog", "audio", "video", "source", "track", "picture", "map", "area"];
/** What loads, names things in the page, or sends somewhere. */
const NO_ATTRIBUTES = ["srcset", "background", "poster", "ping", "action", "formaction", "target", "name", "autofocus", "tabindex", "popover", "is", "slot", "part"];

/** On pages that require trusted types, what turns the text to be sanitised into an inert document. Nothing else goes through it. */
const policy = window.trustedTypes?.createPolicy("agent-sandbox", {
  createHTML: (text) => text,
  createScriptURL() {
    throw new TypeError("Results load no scripts.");
  },
});
const TRUST = policy && { TRUSTED_TYPES_POLICY: policy };

/** For HTML and Markdown. */
const html5 = purifier();
html5.addHook("afterSanitizeAttributes", (node) => {
  if (node.localName === "a") linkOut(node);
  // Only what the markup brings along: an address would tell its owner who reads, and what code put into it.
  const source = node.getAttribute("src");
  if (source !== null && !/^data:image\/(png|jpeg|gif|webp|avif);/i.test(source)) node.removeAttribute("src");
});

/** For SVG: references within the image are kept. */
const images = purifier();
images.addHook("afterSanitizeAttributes", (node) => {
  for (const { name, value } of [...node.attributes]) {
    if (/^(xlink:)?href$/i.test(name) && !value.startsWith("#") && !/^data:image\/(png|jpeg);/i.test(value)) node.removeAttribute(name);
  }
});

/** One of its own: hooks belong to an instance, and the page may use the library with others. */
function purifier() {
  return createDOMPurify(window);
}

/** Links leave the page in a tab of their own, which learns nothing of this one. */
function linkOut(link) {
  const href = link.getAttribute("href");
  if (href === null) return;
  if (!/^(https?:|mailto:)/i.test(href)) return link.removeAttribute("href");
  link.setAttribute("target", "_blank");
  link.setAttribute("rel", "noopener noreferrer");
  return undefined;
}

export function html(text, hold) {
  const content = html5.sanitize(text, {
    ...TRUST,
    USE_PROFILES: { html: true },
    ADD_TAGS: ["style"],
    // A style element at the beginning would otherwise be lost.
    FORCE_BODY: true,
    FORBID_TAGS: NO_TAGS,
    FORBID_ATTR: NO_ATTRIBUTES,
    RETURN_DOM_FRAGMENT: true,
  });
  return htmlFrame(content, hold);
}

export function markdown(text) {
  const content = html5.sanitize(marked.parse(text, { gfm: true, async: false }), {
    ...TRUST,
    USE_PROFILES: { html: true },
    FORBID_TAGS: [...NO_TAGS, "style"],
    FORBID_ATTR: [...NO_ATTRIBUTES, "style", "class", "id"],
    RETURN_DOM_FRAGMENT: true,
  });
  return el("div", { class: "markdown", part: "markdown" }, content);
}

/** An SVG is shown as an image: whatever it holds, nothing in it runs or loads. */
export function svg(result, hold) {
  const body = images.sanitize(result.svg, { ...TRUST, USE_PROFILES: { svg: true, svgFilters: true }, ADD_TAGS: ["use"], RETURN_DOM: true });
  const root = body.querySelector("svg");
  if (!root) return undefined;
  const blob = new Blob([new XMLSerializer().serializeToString(root)], { type: "image/svg+xml" });
  const title = root.querySelector("title")?.textContent.trim();
  return pictureOf(blob, title || "Image made by the code", hold);
}
