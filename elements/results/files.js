// Results that are files: images are shown, documents are offered for download.

import { el } from "../base/dom.js";

/** An image from its bytes. It is a picture to the browser: no script in it runs and it loads nothing. */
export function image(result, format, hold) {
  const blob = result.toBlob(format);
  return blob && pictureOf(blob, describe(result), hold);
}

export function pictureOf(blob, alt, hold) {
  const url = URL.createObjectURL(blob);
  hold(() => URL.revokeObjectURL(url));
  return el("img", { class: "picture", part: "image", src: url, alt, decoding: "async" });
}

export function download(blob, name, hold) {
  if (!blob) return undefined;
  const url = URL.createObjectURL(blob);
  hold(() => URL.revokeObjectURL(url));
  return el("p", { class: "note" }, el("a", { href: url, download: name }, `Download ${name}`), ` (${bytes(blob.size)})`);
}

/** What an image shows, as far as its code says it: `<Figure size 640x480 with 1 Axes>` says nothing. */
function describe({ chart, text }) {
  const said = chart?.title ?? (text?.startsWith("<") ? undefined : text);
  return said ? said.slice(0, 300) : "Image made by the code";
}

/** A number of bytes, as people say it. */
export function bytes(size) {
  if (size < 1000) return `${size} B`;
  if (size < 1_000_000) return `${(size / 1000).toFixed(1)} kB`;
  return size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(2)} GB`;
}
