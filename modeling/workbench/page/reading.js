// Display of a document: blocks, notes beside their places, lines, pages, names.

import { make } from "./elements.js";
import { word } from "./words.js";
import { Text } from "./text.js";

const HEADINGS = new Set(["head", "title"]);
const QUIET = new Set(["dateline", "salute", "signed", "closer", "opener", "address", "addrline", "postscript", "byline", "trailer"]);

// Documents with text by code points, and with the notes, styles and marks of each block.
export function prepared(documents) {
  return documents.map((one, number) => {
    const blocks = one.blocks.map((block, index) => ({ ...block, index, notes: [] }));
    for (const note of one.notes) {
      note.blocks = blocks.filter((block) => block.part === note.part);
      const around = blocks.find((block) => block.part === undefined && note.at <= block.end) || blocks.find((block) => block.part === undefined);
      if (around) around.notes.push(note);
    }
    for (const kind of ["styles", "marks"]) deal(one[kind], blocks, kind);
    return { ...one, number, blocks, text: new Text(one.text) };
  });
}

// Assign spans or places to the blocks that they are in; blocks are in order and disjoint.
function deal(all, blocks, kind) {
  for (const block of blocks) block[kind] = [];
  for (const each of all) {
    const start = each.start ?? each.at;
    let low = 0, high = blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle].end <= start) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < blocks.length && blocks[i].start < (each.end ?? start + 1); i += 1) blocks[i][kind].push(each);
  }
}

export function showDocument(one, items, labels) {
  deal(items, one.blocks, "items");
  const shown = [];
  let row = null, table = null;
  for (const block of one.blocks) {
    if (block.part !== undefined) continue;
    if (block.kind === "cell" && block.row !== undefined) {
      if (!table) shown.push((table = make("div", { class: "table" })));
      if (row === null || row.number !== block.row) table.append((row = Object.assign(make("div", { class: "row" }), { number: block.row })));
      row.append(showBlock(one, block, labels));
      continue;
    }
    table = row = null;
    shown.push(showBlock(one, block, labels));
    for (const note of block.notes) shown.push(showNote(one, note, labels));
  }
  const orphans = one.notes.filter((note) => !one.blocks.some((block) => block.notes.includes(note)));
  return make("article", { lang: one.lang || null, "data-document": one.number, "aria-label": one.title }, shown, orphans.map((note) => showNote(one, note, labels)));
}

function showNote(one, note, labels) {
  return make("aside", { class: "note", "aria-label": `${word("note")} ${note.n}`.trim() }, make("span", { class: "note-mark", "aria-hidden": "true" }, note.n || "*"), note.blocks.map((block) => showBlock(one, block, labels)));
}

export function showBlock(one, block, labels) {
  const kind = block.kind.replace(/[^a-z]/gi, "");
  const tag = HEADINGS.has(kind) ? "h3" : "p";
  const element = make(tag, { class: `block ${QUIET.has(kind) ? "apart" : ""} kind-${kind}`, "data-block": block.index });
  fill(element, one, block, block.items, labels);
  return element;
}

// Fill the element of a block with its text, names, styles and marks.
export function fill(element, one, block, items, labels) {
  const within = (each) => each.start < block.end && block.start < each.end;
  const spans = items.filter(within).sort((a, b) => a.start - b.start || b.end - a.end || (a.own ? -1 : 1));
  const { styles } = block;
  const marks = [
    ...block.marks.filter((mark) => mark.at >= block.start && !(mark.kind === "line" && mark.at === block.start)),
    ...block.notes.map((note) => ({ at: Math.min(note.at, block.end), kind: "note", n: note.n || "*" })),
  ].sort((a, b) => a.at - b.at);
  const points = new Set([block.start, block.end, ...marks.map((mark) => mark.at)]);
  for (const each of [...spans, ...styles]) {
    points.add(Math.max(each.start, block.start));
    points.add(Math.min(each.end, block.end));
  }
  const order = [...points].sort((a, b) => a - b);
  const open = [{ element, end: block.end }];
  let nextSpan = 0, nextMark = 0;
  element.replaceChildren();
  order.forEach((point, index) => {
    while (open.length > 1 && open.at(-1).end <= point) open.pop();
    while (nextMark < marks.length && marks[nextMark].at === point) open.at(-1).element.append(showMark(marks[nextMark++]));
    while (nextSpan < spans.length && Math.max(spans[nextSpan].start, block.start) === point) {
      const span = spans[nextSpan++];
      const end = Math.min(span.end, open.at(-1).end);
      if (end <= point) continue;
      const made = showName(one, span, labels);
      open.at(-1).element.append(made);
      open.push({ element: made, end });
    }
    const until = order[index + 1];
    if (until !== undefined) {
      const covering = styles.filter((style) => style.start <= point && until <= style.end).map((style) => `s-${style.style}`);
      const run = make("span", { class: ["t", ...covering].join(" ") }, one.text.slice(point, until));
      run.at = point;
      open.at(-1).element.append(run);
    }
  });
}

function showMark(mark) {
  if (mark.kind === "line" || mark.kind === "column") return make("span", { class: "lb", "aria-hidden": "true" });
  if (mark.kind === "note") return make("sup", { class: "anchor", "aria-hidden": "true" }, mark.n);
  const name = `${word("page")} ${mark.n || ""}`.trim();
  if (!mark.facs) return make("span", { class: "pb", "data-image": mark.image }, name);
  return make("a", { class: "pb", "data-image": mark.image, href: mark.facs, target: "_blank", rel: "noopener noreferrer" }, name, make("span", { class: "away", "aria-label": word("facsimile") }, "↗"));
}

function showName(one, span, labels) {
  const tone = labels.indexOf(span.label);
  const tones = tone < 0 ? "tone-none" : `tone-${tone % 7}`;
  const classes = ["item", span.status, tones, span.isNew && "new", span.isChanged && "changed", span.entity && "linked", span.own && "own"];
  const form = one.text.slice(span.start, span.end).replace(/\s+/g, " ");
  const element = make("span", { class: classes.filter(Boolean).join(" "), role: "group", tabindex: "-1", "data-id": span.id, "aria-label": nameOf(span, form) });
  element.style.setProperty("--p", span.probability ?? 1);
  element.dataset.label = span.label;
  return element;
}

export function nameOf(item, form) {
  const sure = item.probability === null || item.probability === undefined ? [] : [percent(item.probability)];
  return `${form}: ${[item.label, word(item.status), ...sure, item.entity].filter(Boolean).join(", ")}`;
}

export function percent(probability) {
  return `${Math.round(probability * 100)} %`;
}

// The code point of the document at an offset of a DOM node; null outside of the text.
export function placeIn(node, offset) {
  const run = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.(".t");
  if (run) {
    const before = node.nodeType === Node.TEXT_NODE ? node.data.slice(0, offset) : offset ? run.textContent : "";
    return run.at + [...before].length;
  }
  const child = node.childNodes?.[offset] || node;
  const next = child.querySelector?.(".t") || child.parentElement?.querySelector(".t");
  return next ? next.at : null;
}

// The DOM range of a span of a document; null if there is none.
export function rangeOf(article, start, end) {
  const range = document.createRange();
  let isBegun = false;
  for (const run of article.querySelectorAll(".t")) {
    const text = new Text(run.textContent);
    if (!isBegun && run.at <= start && start < run.at + text.length) {
      range.setStart(run.firstChild, text.unit(start - run.at));
      isBegun = true;
    }
    if (isBegun && run.at < end && end <= run.at + text.length) {
      range.setEnd(run.firstChild, text.unit(end - run.at));
      return range;
    }
  }
  return null;
}
