// Terminal colours (SGR) as pieces of text with classes. Every other control sequence is left out.

const SEQUENCE = /\u001b(?:\[([0-9;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export const plain = (text) => (hasControls(text) ? text.replace(SEQUENCE, "").replace(CONTROL, "") : text);

const hasControls = (text) => /[\u0000-\u0008\u000b-\u001f\u007f]/.test(text);

// Returns [{text, classes}], in order; together the texts are plain(text).
export function pieces(text) {
  if (!text.includes("\u001b")) return [{ text: text.replace(CONTROL, ""), classes: "" }];
  const found = [];
  const style = { flags: new Set(), colour: "" };
  let from = 0;
  const keep = (piece) => {
    const clean = piece.replace(CONTROL, "");
    if (clean) found.push({ text: clean, classes: [...style.flags, style.colour].filter(Boolean).join(" ") });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    keep(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") apply(style, match[1]);
  }
  keep(text.slice(from));
  return found;
}

function apply(style, parameters) {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let place = 0; place < codes.length; place += 1) {
    const code = codes[place];
    if (code === 0) {
      style.flags.clear();
      style.colour = "";
    } else if ([1, 2, 3, 4, 7, 9].includes(code)) style.flags.add(`a${code}`);
    else if (code === 22) ["a1", "a2"].forEach((flag) => style.flags.delete(flag));
    else if ([23, 24, 27, 29].includes(code)) style.flags.delete(`a${code - 20}`);
    else if (code >= 30 && code <= 37) style.colour = `f${code - 30}`;
    else if (code >= 90 && code <= 97) style.colour = `f${code - 90}`;
    else if (code === 39) style.colour = "";
    else if (code === 38 || code === 48) {
      // 256 colours and RGB come as the nearest of the eight, which are readable on light and dark.
      const isIndexed = codes[place + 1] === 5;
      const near = isIndexed ? nearest(...palette(codes[place + 2])) : nearest(...codes.slice(place + 2, place + 5));
      if (code === 38) style.colour = `f${near}`;
      place += isIndexed ? 2 : 4;
    }
  }
}

function palette(index) {
  if (index < 16) return [index & 1 ? 255 : 0, index & 2 ? 255 : 0, index & 4 ? 255 : 0];
  if (index >= 232) return Array(3).fill(8 + (index - 232) * 10);
  const rest = index - 16;
  return [Math.floor(rest / 36), Math.floor(rest / 6) % 6, rest % 6].map((step) => (step ? 55 + step * 40 : 0));
}

function nearest(red = 0, green = 0, blue = 0) {
  const most = Math.max(red, green, blue);
  if (most < 60) return 0;
  return (red > most * 0.6 ? 1 : 0) + (green > most * 0.6 ? 2 : 0) + (blue > most * 0.6 ? 4 : 0);
}
