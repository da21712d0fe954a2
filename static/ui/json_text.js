// JSON that people write: read, or refused with the field, the line and the column of the first mistake.

const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

class Misplaced extends Error {
  constructor(at, expected) {
    super(expected);
    this.at = at;
  }
}

// Throws the place of the first mistake; browsers tell it in words of their own, or not at all.
function scan(text) {
  let at = 0;
  const space = () => {
    while (/[ \t\r\n]/.test(text[at] ?? "")) at += 1;
  };
  const take = (pattern, expected) => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) throw new Misplaced(at, expected);
    at = pattern.lastIndex;
  };
  const list = (end, part, expected) => {
    at += 1;
    space();
    if (text[at] === end) return void (at += 1);
    for (;;) {
      part();
      space();
      if (text[at] !== "," && text[at] !== end) throw new Misplaced(at, expected);
      at += 1;
      if (text[at - 1] === end) return undefined;
      space();
    }
  };
  const member = () => {
    take(TEXT, 'a name in "double quotes"');
    space();
    if (text[at] !== ":") throw new Misplaced(at, "a colon after the name");
    at += 1;
    value();
  };
  const value = () => {
    space();
    if (text[at] === "{") list("}", member, "a comma or }");
    else if (text[at] === "[") list("]", value, "a comma or ]");
    else if (text[at] === '"') take(TEXT, 'a text that ends with "');
    else take(PLAIN, 'a value: a text in "double quotes", a number, true, false, null, { or [');
  };
  value();
  space();
  if (at < text.length) throw new Misplaced(at, "nothing more");
}

// Returns the value of `text`; throws an Error that names `field` and has the offset of the mistake as `at`.
export function parsed(text, field) {
  try {
    return JSON.parse(text);
  } catch (error) {
    let [at, said] = [undefined, error.message];
    try {
      scan(text);
    } catch (found) {
      if (found instanceof Misplaced) [at, said] = [found.at, place(text, found)];
    }
    throw Object.assign(new Error(`${field} is no JSON: ${said}.`), { at });
  }
}

function place(text, { at, message }) {
  const before = text.slice(0, at).split("\n");
  const there = at < text.length ? "" : ", at the end";
  return `line ${before.length}, column ${before.at(-1).length + 1}${there}: expected ${message}`;
}
