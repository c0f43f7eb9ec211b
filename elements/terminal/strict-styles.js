// Keeps xterm.js to a strict policy on styles: its style elements become sheets of the shadow root, and its style attributes
// declarations of the object model, which such policies do not forbid.

/** Opens the terminal. */
export function openStrictly(terminal, place, root) {
  // It makes its style elements while it is opened, which ends before this returns.
  document.createElement = (tag, options) => (tag === "style" ? styleElement(root) : create(tag, options));
  try {
    terminal.open(place);
  } finally {
    // What the document has from its prototype shows again.
    delete document.createElement;
  }
  // Colours of their own are attributes of each piece of text. There is no setting for that; the version is pinned, and a test
  // tells when this no longer works.
  const rows = terminal._core?._renderService?._renderer?.value?._rowFactory;
  if (rows?._addStyle) rows._addStyle = (element, style) => (element.style.cssText += `${style};`);
}

const create = (tag, options) => Document.prototype.createElement.call(document, tag, options);

/** What looks like a style element; its text is that of a sheet. */
function styleElement(root) {
  const sheet = new CSSStyleSheet();
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  const element = create("span");
  element.hidden = true;
  Object.defineProperty(element, "textContent", { get: () => "", set: (text) => sheet.replaceSync(text) });
  element.remove = () => {
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
