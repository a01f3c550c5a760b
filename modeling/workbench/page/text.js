// Texts by code points, which all offsets count, and their words.

export class Text {
  constructor(string) {
    this.string = string;
    this.units = null; // the UTF-16 offset of each code point; null: all are one unit
    if (/[\ud800-\udbff]/.test(string)) {
      this.units = [];
      for (let i = 0; i < string.length; i += string.codePointAt(i) > 0xffff ? 2 : 1) this.units.push(i);
      this.units.push(string.length);
    }
    this.length = this.units ? this.units.length - 1 : string.length;
  }

  unit(point) {
    return this.units ? this.units[Math.min(point, this.length)] : point;
  }

  point(unit) {
    if (!this.units) return unit;
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.units[middle] < unit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  slice(start, end) {
    return this.string.slice(this.unit(start), this.unit(end));
  }

  isSpace(point) {
    return /^\s*$/.test(this.slice(point, point + 1));
  }

  // Tell whether a letter's mark (a vowel of Hebrew, an accent) begins at a code point.
  isMark(point) {
    return /^\p{M}/u.test(this.slice(point, point + 1));
  }
}

// A string without case, as Python's casefold has it (one letter may become two), and the offset in
// the original of each of its units; -1 inside a letter.
export function folded(original) {
  const parts = [], places = [];
  let at = 0;
  for (const letter of original) {
    const part = letter.toUpperCase().toLowerCase();
    parts.push(part);
    for (let i = 0; i < part.length; i++) places.push(i ? -1 : at);
    at += letter.length;
  }
  places.push(at);
  return { string: parts.join(""), places };
}

// Inside a word also stand U+200C and U+200D (Persian), and Hebrew's hyphen and marks of abbreviations.
const WORD = /[\p{L}\p{M}\p{N}]+(?:[-'’.·\u200c\u200d\u05be\u05f3\u05f4][\p{L}\p{M}\p{N}]+)*/gu;
const FROM_RIGHT = /^[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

// Tell whether a string is in a script that runs from right to left, by its first letter.
export function runsFromRight(string) {
  return FROM_RIGHT.test(/\p{L}/u.exec(string)?.[0] || "");
}

// The words of a part of a text, as pairs of offsets; in scripts without spaces, by Intl.Segmenter.
export function wordsOf(text, start, end, lang) {
  const string = text.slice(start, end);
  const first = text.unit(start);
  const found = [];
  const add = (from, to) => found.push([text.point(first + from), text.point(first + to)]);
  if (/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/.test(string) && Intl.Segmenter) {
    const segmenter = new Intl.Segmenter(lang || undefined, { granularity: "word" });
    for (const each of segmenter.segment(string)) if (each.isWordLike) add(each.index, each.index + each.segment.length);
    return found;
  }
  for (const each of string.matchAll(WORD)) add(each.index, each.index + each[0].length);
  return found;
}

// The span after one boundary (side "start" or "end") has moved by a step (1 or -1) of a unit ("word"
// or "character"); null if it cannot.
export function movedBoundary(text, block, span, { side, step, unit, lang }) {
  let { start, end } = span;
  if (unit === "word") {
    const words = wordsOf(text, block.start, block.end, lang);
    const places = words.map((word) => word[side === "start" ? 0 : 1]);
    const from = side === "start" ? start : end;
    const next = step > 0 ? places.find((p) => p > from) : places.findLast((p) => p < from);
    if (next === undefined) return null;
    if (side === "start") start = next;
    else end = next;
  } else {
    const inside = (p) => p >= block.start && p <= block.end;
    const isBad = () => (side === "start" ? text.isSpace(start) || text.isMark(start) : text.isSpace(end - 1) || text.isMark(end));
    do {
      if (side === "start") start += step;
      else end += step;
    } while (start < end && inside(start) && inside(end) && isBad());
  }
  return start < end && start >= block.start && end <= block.end ? { start, end } : null;
}
