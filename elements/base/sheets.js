// Style sheets made in the script, which no Content-Security-Policy on styles forbids; one object for each text on a page.

const made = new Map();

/** @param {string[]} texts */
export function sheets(...texts) {
  return texts.map((text) => {
    if (!made.has(text)) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      made.set(text, sheet);
    }
    return made.get(text);
  });
}
