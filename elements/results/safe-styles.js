// Styles that markup from the sandbox brings, without whatever could load something or reach beyond its own element.

/** Functions that load, or that hide one that does. */
const LOADS = /\b(url|src|image|image-set|-webkit-image-set|cross-fade|element|var|env|attr|paint)\s*\(|\\/i;

/** How many rules of one sheet are taken. */
const MOST = 5_000;

/** The rules of a sheet, as a sheet of the frame that `view` is the window of. */
export function safeRules(text, view) {
  const given = new view.CSSStyleSheet();
  const sheet = new view.CSSStyleSheet();
  try {
    given.replaceSync(text);
  } catch {
    return sheet;
  }
  for (const rule of [...given.cssRules].slice(0, MOST)) {
    // Plain rules only: others import, name fonts, or hold further ones.
    if (!(rule instanceof view.CSSStyleRule) || rule.cssRules?.length > 0) continue;
    const declarations = safe(rule.style);
    if (declarations) sheet.insertRule(`${rule.selectorText} { ${declarations} }`, sheet.cssRules.length);
  }
  return sheet;
}

/** Sets the declarations of a `style` attribute through the object model, which no policy on styles forbids. */
export function safeDeclarations(element) {
  const text = element.getAttribute("style");
  element.removeAttribute("style");
  element.style.cssText = text;
  element.style.cssText = safe(element.style);
}

function safe(style) {
  const kept = [];
  for (const name of style) {
    const value = style.getPropertyValue(name);
    if (!name.startsWith("--") && !LOADS.test(value)) kept.push(`${name}: ${value}${style.getPropertyPriority(name) && " !important"}`);
  }
  return kept.join("; ");
}
