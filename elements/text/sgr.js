// Colours and weights of terminal output: the parameters of `ESC [ … m`, as CSS classes.

const PLAIN = Object.freeze({
  front: undefined,
  back: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
});

/** The parameters that switch one thing on or off. Blinking (5) and hiding (8) are not done to a reader. */
const SWITCHES = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { strike: false },
  39: { front: undefined },
  49: { back: undefined },
};

/** The current look of one output stream. */
export class Look {
  #now = PLAIN;
  /** The classes of text written now; empty for plain text. */
  classes = "";

  /** Applies the text between `ESC [` and `m`. Whatever is not understood is passed over. */
  apply(parameters) {
    const codes = parameters.split(/[;:]/).map((text) => (text === "" ? 0 : Number(text)));
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i];
      if (code === 0) this.#now = PLAIN;
      else if (SWITCHES[code]) this.#now = { ...this.#now, ...SWITCHES[code] };
      else if (code >= 30 && code <= 37) this.#now = { ...this.#now, front: code - 30 };
      else if (code >= 40 && code <= 47) this.#now = { ...this.#now, back: code - 40 };
      else if (code >= 90 && code <= 97) this.#now = { ...this.#now, front: code - 82 };
      else if (code >= 100 && code <= 107) this.#now = { ...this.#now, back: code - 92 };
      else if (code === 38 || code === 48) {
        const taken = codes[i + 1] === 5 ? 2 : codes[i + 1] === 2 ? 4 : 1;
        const colour = extended(codes.slice(i + 1, i + 1 + taken));
        if (colour !== undefined) this.#now = { ...this.#now, [code === 38 ? "front" : "back"]: colour };
        i += taken;
      }
    }
    this.classes = this.#classes();
  }

  #classes() {
    const { inverse, bold, dim, italic, underline, strike } = this.#now;
    let { front, back } = this.#now;
    if (inverse) [front, back] = [back ?? "back", front ?? "front"];
    const names = [];
    if (back !== undefined) names.push(`on-${back}`);
    if (front !== undefined) names.push(`in-${front}`);
    for (const [name, on] of Object.entries({ bold, dim, italic, underline, strike })) if (on) names.push(`text-${name}`);
    return names.join(" ");
  }
}

/** `5;n` or `2;r;g;b` as the nearest of the sixteen colours of the theme, which are known to be readable. */
function extended([kind, ...values]) {
  if (values.length === 0 || values.some((value) => !(value >= 0 && value <= 255))) return undefined;
  if (kind === 2) return values.length === 3 ? nearest(...values) : undefined;
  if (kind !== 5) return undefined;
  const [n] = values;
  if (n < 16) return n;
  if (n >= 232) return nearest(...Array(3).fill(8 + 10 * (n - 232)));
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  return nearest(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6));
}

function nearest(...rgb) {
  const top = Math.max(...rgb);
  if (top < 48) return 0;
  const bits = rgb.reduce((sum, value, i) => sum + (value * 2 > top ? 1 << i : 0), 0);
  const grey = bits === 7;
  if (grey) return top < 150 ? 8 : top < 220 ? 7 : 15;
  return top > 200 ? bits + 8 : bits;
}
