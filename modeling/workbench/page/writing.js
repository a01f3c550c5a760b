// The TEI of a block with the accepted names around their characters, as the program writes them.
// Names that the program would write as several elements, or not at all, are not shown.

import { Text } from "./text.js";

const TOKEN = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>/g;
const NAME = /^<\/?(?:[^\s:/>]+:)?([^\s/>]+)/;
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (each) => ESCAPES[each]);

// The tags, comments and the like of a text: the span of each, and whether it opens or closes.
function tokensOf(tei) {
  return [...tei.matchAll(TOKEN)].map((found) => {
    const markup = found[0];
    const kind = markup.startsWith("<![") ? "text" : /^<[!?]/.test(markup) || markup.endsWith("/>") ? "empty" : markup[1] === "/" ? "close" : "open";
    return { start: found.index, end: found.index + markup.length, kind, name: (NAME.exec(markup)?.[1] || "").toLowerCase() };
  });
}

// The place of a character of the block in its TEI; null if it was generated, or is elsewhere.
function placeOf(runs, index) {
  const run = runs.findLast((each) => each[0] <= index);
  if (!run || index - run[0] >= run[2]) return null;
  return run[3] ? { start: run[1], end: run[3] } : { start: run[1] + index - run[0], end: run[1] + index - run[0] + 1 };
}

// The span around which tags can be put: the given one, extended over adjacent tags until it is
// balanced; null if there is none.
function fragment(tei, tokens, { start, end }, content) {
  const inside = tokens.filter((token) => start <= token.start && token.end <= end);
  if (tokens.some((token) => token.kind === "text" && token.start < end && start < token.end)) return null;
  if (inside.some((token) => token.kind !== "close" && content.blocks.includes(token.name))) return null;
  let closing = 0, opened = 0;
  for (const { kind } of inside) {
    if (kind === "open") opened += 1;
    else if (kind === "close" && opened) opened -= 1;
    else if (kind === "close") closing += 1;
  }
  const over = (step) => {
    for (;;) {
      while (/\s/.test(step < 0 ? tei[start - 1] : tei[end])) step < 0 ? (start -= 1) : (end += 1);
      const token = tokens.find((each) => (step < 0 ? each.end === start : each.start === end));
      if (!token || token.kind === "text" || token.kind === (step < 0 ? "close" : "open")) return false;
      if (step < 0) start = token.start;
      else end = token.end;
      if (token.kind !== "empty") return true;
    }
  };
  for (; closing; closing -= 1) if (!over(-1)) return null;
  for (; opened; opened -= 1) if (!over(1)) return null;
  const around = [];
  for (const { kind, name, end: at } of tokens) {
    if (at > start) break;
    if (kind === "open") around.push(name);
    else if (kind === "close") around.pop();
  }
  return around.length && !content.noNameIn.includes(around.at(-1)) ? { start, end } : null;
}

function tagsOf(item, prefix, writing) {
  const [name, attributes] = writing.elements[item.label];
  const said = [...attributes, ...(item.entity && writing.references[item.entity] ? [writing.references[item.entity]] : []), ["resp", `#${item.isNew ? writing.review : writing.model}`]];
  const written = said.filter(([, value]) => value).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  return [`<${prefix}${name}${written.join("")}>`, `</${prefix}${name}>`];
}

// The TEI of a block as it is and as it will be, and the names that are not shown (with their id).
export function written({ tei, prefix, runs }, items, block, writing) {
  const text = new Text(tei), tokens = tokensOf(tei), left = [], names = [];
  for (const item of items) {
    const first = placeOf(runs, item.start - block.start), last = placeOf(runs, item.end - 1 - block.start);
    const found = first && last && first.start < last.end && fragment(tei, tokens, { start: text.unit(first.start), end: text.unit(last.end) }, writing.content);
    if (found) names.push({ ...found, tags: tagsOf(item, prefix, writing) });
    if (!found || (item.entity && !writing.references[item.entity])) left.push(item);
  }
  names.sort((a, b) => a.start - b.start || b.end - a.end);
  let will = "", at = 0;
  const open = [];
  const upTo = (place) => {
    will += tei.slice(at, place);
    at = place;
  };
  const close = (place) => {
    while (open.length && open.at(-1).end <= place) {
      const name = open.pop();
      upTo(name.end);
      will += name.tags[1];
    }
  };
  for (const name of names) {
    close(name.start);
    upTo(name.start);
    will += name.tags[0];
    open.push(name);
  }
  close(tei.length);
  upTo(tei.length);
  return { is: tei, will, left };
}
