// The page without a server: the page holds the letters, and the browser the decisions until they
// are exported as a list for `modeling.predict --apply`.

import { word } from "./words.js";
import { Text, folded } from "./text.js";
import { written } from "./writing.js";

const COLUMNS = ["file", "document", "before", "name", "after", "label", "entity", "probability", "accept", "start", "end", "suggested", "there", "remark"];
const AROUND = 40; // characters on each side of a name in the list
const CONTEXT_SHOWN = 48;
const MAX_SHOWN = 500;

class Refused extends Error {
  constructor(message, status = 422) {
    super(message);
    this.status = status;
  }
}

class Store {
  constructor(data) {
    this.data = data;
    this.texts = data.letters.map((letter) => letter.documents.map((one) => new Text(one.text)));
    this.known = null; // what this browser had stored when it was last read or written
    this.refresh();
  }

  // Take over the actions that this browser has stored for these letters, also from another window;
  // true if there were new ones.
  refresh() {
    const stored = this.stored();
    if (String(stored) === String(this.known)) return false;
    this.known = stored;
    this.items = this.data.letters.map((letter) => [...letter.items]);
    this.done = [];
    this.undone = [];
    const entries = stored.flatMap(([key, text]) => [JSON.parse(text)].flat().map((entry, n) => ({ ...entry, key: `${key}/${n}` })));
    const taken = new Set(entries.map((entry) => entry.undone));
    for (const entry of entries) if (entry.changes && !taken.has(entry.key)) this.put(entry);
    return true;
  }

  // The keys and texts that the browser has, in order; where it has forgotten them, or keeps nothing, as they are here.
  // Each action is an entry of its own, so that two windows never overwrite each other; earlier pages kept one list.
  stored() {
    try {
      const keys = Object.keys(localStorage).filter((key) => key === this.data.id || key.startsWith(`${this.data.id}/`));
      if (keys.length) return keys.sort().map((key) => [key, localStorage.getItem(key)]);
    } catch {
      // a browser that keeps nothing
    }
    return this.known || [];
  }

  // Store an action, a list of changes [letter, document, old, new], or that one is undone, before it is shown.
  act(entry) {
    if (this.refresh()) throw new Refused(word("conflict"), 409);
    const last = Number(this.known.at(-1)?.[0].split("/")[1] || 0);
    const key = `${this.data.id}/${Math.max(Date.now(), last + 1)}/${Math.random()}`;
    const kept = [...this.known, [key, JSON.stringify(entry)]];
    try {
      for (const [name, text] of kept) if (localStorage.getItem(name) === null) localStorage.setItem(name, text);
      this.known = kept;
    } catch (error) {
      throw new Refused(`${word("notKept")} (${error.name})`, 507);
    }
    return { ...entry, key: `${key}/0` };
  }

  put(action) {
    for (const [n, d, before, after] of action.changes) {
      const list = this.items[n][d].filter((item) => !before || item.id !== before.id);
      this.items[n][d] = after ? [...list.filter((item) => item.id !== after.id), after] : list;
    }
    this.done.push(action);
  }

  shown(n, d) {
    const all = this.items[n][d];
    const names = all.filter((item) => item.status === "accepted");
    const isAnswered = (item) => item.status === "open" && names.some((name) => name.start < item.end && item.start < name.end);
    return all.filter((item) => !isAnswered(item)).sort((a, b) => a.start - b.start || b.end - a.end);
  }

  state(n) {
    const letter = this.data.letters[n];
    const items = letter.documents.map((_, d) => this.shown(n, d));
    const count = (...statuses) => items.flat().filter((item) => statuses.includes(item.status)).length;
    const row = { ...letter.row, open: count("open"), decided: count("accepted", "rejected") };
    return { row, sha256: letter.sha256, items, there: letter.there, journal: this.history() };
  }

  history() {
    return { undo: this.done.length, redo: this.undone.length };
  }

  answer(changes) {
    const letters = Object.fromEntries(changes.map(([n]) => [n, this.state(n)]));
    const [letter, d, before, after] = changes.at(-1);
    return { letters, letter, document: d, item: (after || before).id, journal: this.history() };
  }

  decide(list) {
    const changes = list.map((asked) => this.changed(asked));
    this.put(this.act({ changes }));
    this.undone.length = 0;
    return this.answer(changes);
  }

  changed(asked) {
    const { letter: n, document: d } = asked;
    const old = asked.id ? this.items[n][d].find((item) => item.id === asked.id) : null;
    const status = asked.status || "accepted";
    const said = old && !old.isNew ? old.said || [old.start, old.end, old.label, old.entity] : null;
    const { start, end, label, entity, remark = "" } = asked;
    const isChanged = Boolean(said) && JSON.stringify(said) !== JSON.stringify([start, end, label, entity]);
    if (status !== "accepted" || (old?.own && !isChanged && !remark)) {
      if (!said) return [n, d, old, null];
      const [start, end, label, entity] = said;
      const now = old.own && status !== "rejected" ? "there" : status;
      return [n, d, old, { ...old, start, end, label, entity, status: now, isChanged: false, said: null, remark: now === "rejected" ? remark : "" }];
    }
    const id = said ? old.id : `${start}-${end}`;
    const item = { id, start, end, label, entity, status, probability: old ? old.probability : null, isNew: !said, isChanged, said, reviewer: "", time: "", remark, ...(old?.own ? { own: old.own } : {}) };
    this.check(n, d, item, old);
    return [n, d, old, item];
  }

  check(n, d, item, old) {
    const text = this.texts[n][d];
    if (!(item.start >= 0 && item.start < item.end && item.end <= text.length) || text.isSpace(item.start) || text.isSpace(item.end - 1)) throw new Refused(word("noPlace"));
    if (item.isNew && !this.data.letters[n].documents[d].blocks.some((block) => block.start <= item.start && item.end <= block.end)) throw new Refused(word("noPlace"));
    const names = this.items[n][d].filter((each) => ["accepted", "there"].includes(each.status) && each.id !== item.id && each.id !== old?.id);
    const isInside = (a, b) => b.start <= a.start && a.end <= b.end;
    const isCrossing = (other) => other.start < item.end && item.start < other.end && !isInside(other, item) && !isInside(item, other);
    const isSame = (other) => other.start === item.start && other.end === item.end && other.label;
    const other = names.find((each) => isCrossing(each) || isSame(each));
    if (other) throw new Refused(word("inTheWay", text.slice(other.start, other.end)));
  }

  last(list) {
    if (this.refresh()) throw new Refused(word("conflict"), 409);
    if (!this[list].length) throw new Refused(word("nothing"));
    return this[list].at(-1);
  }

  undo() {
    const last = this.last("done");
    const changes = last.changes.map(([n, d, before, after]) => [n, d, after, before]).reverse();
    this.act({ undone: last.key });
    this.put({ changes });
    this.done.splice(-2);
    this.undone.push(last);
    return this.answer(changes);
  }

  redo() {
    const last = this.last("undone");
    this.put(this.act({ changes: last.changes }));
    this.undone.pop();
    return this.answer(last.changes);
  }

  *places(find) {
    for (const [n, letter] of this.data.letters.entries()) {
      for (const [d, one] of letter.documents.entries()) {
        const text = this.texts[n][d];
        for (const unit of find(one.text)) {
          const start = text.point(unit.at), end = text.point(unit.at + unit.length);
          yield { letter: n, title: letter.row.title, document: d, start, end, before: text.slice(Math.max(0, start - CONTEXT_SHOWN), start), form: text.slice(start, end), after: text.slice(end, end + CONTEXT_SHOWN) };
        }
      }
    }
  }

  occurrences(form) {
    const letter = /[\p{L}\p{N}]/u;
    const isWhole = (text, at) => !letter.test(text[at - 1] || "") && !letter.test(text[at + form.length] || "");
    const whole = (text) => {
      let end = 0; // none overlap
      return all(text, form).filter(({ at, length }) => at >= end && isWhole(text, at) && (end = at + length));
    };
    const found = [...this.places(whole)].map((hit) => {
      const touched = this.shown(hit.letter, hit.document).filter((item) => item.start < hit.end && hit.start < item.end);
      const item = touched.find((each) => each.start === hit.start && each.end === hit.end) || null;
      const status = item ? item.status : touched.some((each) => ["accepted", "there"].includes(each.status)) ? "there" : "none";
      return { ...hit, item, status };
    });
    return { found: found.slice(0, MAX_SHOWN), more: Math.max(0, found.length - MAX_SHOWN), unread: 0 };
  }

  search(words) {
    const wanted = folded(words.trim()).string;
    const found = wanted ? [...this.places((text) => allWithoutCase(text, wanted))] : [];
    return { found: found.slice(0, MAX_SHOWN), more: Math.max(0, found.length - MAX_SHOWN), unread: 0 };
  }

  entries(query, form, label) {
    const wanted = (query || form).toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
    const rank = (entry) => wanted.filter((each) => entry.forms.some((other) => other.startsWith(each))).length - (entry.kind && entry.kind !== label ? 0.3 : 0);
    const ranked = this.data.entries.map((entry) => [rank(entry), entry]).filter(([fit]) => fit > 0);
    return { entries: ranked.sort((a, b) => b[0] - a[0]).slice(0, 12).map(([, entry]) => entry) };
  }

  // The TEI of a block as it is, and with the accepted names.
  markup(n, d, b) {
    const one = this.data.letters[n].documents[d];
    const block = one.blocks[b], known = one.tei.blocks[b];
    if (!known) throw new Refused(word("noTei"));
    const inside = this.shown(n, d).filter((item) => item.status === "accepted" && !item.own && block.start <= item.start && item.end <= block.end);
    const { is, will, left } = written({ ...one.tei.elements[known.element], runs: known.runs }, inside, block, this.data.writing);
    return { is, will, skipped: left.length ? word("leftToApply", left.map((item) => this.texts[n][d].slice(item.start, item.end)).join(", ")) : "" };
  }

  // The list of decisions in the form that `--apply` reads, without open names.
  list() {
    const lines = [COLUMNS.join("\t")];
    for (const [n, letter] of this.data.letters.entries()) {
      for (const [d, one] of letter.documents.entries()) {
        for (const item of this.shown(n, d)) if (!["open", "there"].includes(item.status)) lines.push(this.line(letter.name, one.id, this.texts[n][d], item));
      }
    }
    return `\ufeff${lines.join("\n")}\n`;
  }

  line(file, id, text, item) {
    const said = item.isNew ? null : item.said || [item.start, item.end, item.label, item.entity];
    const [start, end] = said || [item.start, item.end];
    const before = text.slice(Math.max(0, start - AROUND), start), after = text.slice(end, end + AROUND);
    const place = said ? [start, end, `${said[2]} ${said[3]}`.trim()] : ["", "", ""];
    const cells = [file, id, before, text.slice(item.start, item.end), after, item.label, item.entity, said ? item.probability ?? "" : "", item.status === "accepted" ? "yes" : "no", ...place, item.own ? "yes" : "", item.remark || ""];
    return cells.map(listCell).join("\t");
  }
}

const FORMULA = /^'*[=+\-@\t\n\r＝＋－＠]/; // a spreadsheet would run it

function listCell(value) {
  const escapes = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
  const escaped = String(value).replace(/[\\\t\n\r]/g, (each) => escapes[each]);
  const cell = FORMULA.test(escaped) ? `'${escaped}` : escaped;
  return cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function all(text, wanted) {
  const found = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) found.push({ at, length: wanted.length });
  return found;
}

function allWithoutCase(text, wanted) {
  const { string, places } = folded(text);
  const found = all(string, wanted).map(({ at, length }) => ({ at: places[at], end: places[at + length] }));
  return found.filter(({ at, end }) => at >= 0 && end >= 0).map(({ at, end }) => ({ at, length: end - at }));
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function connect() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const store = new Store(data);
  const soon = (value) => async (...given) => value(...given);
  document.getElementById("overview-button").hidden = true;
  document.getElementById("save").dataset.word = "export";
  return {
    isStill: true,
    letters: soon(() => ({ ...data.listing, letters: data.letters.map((_, n) => store.state(n).row), journal: store.history() })),
    letter: soon((n) => {
      store.refresh();
      return { ...data.letters[n], ...store.state(n) };
    }),
    markup: soon((n, d, b) => store.markup(n, d, b)),
    occurrences: soon((form) => store.occurrences(form)),
    search: soon((words) => store.search(words)),
    entries: soon((query, form, label) => store.entries(query, form, label)),
    overview: soon(() => { throw new Refused(word("noMarkup")); }),
    unlinked: soon(() => { throw new Refused(word("noMarkup")); }),
    decide: soon((list) => store.decide(list)),
    entry: soon(() => { throw new Refused(word("noEntry")); }),
    undo: soon(() => store.undo()),
    redo: soon(() => store.redo()),
    save: soon(() => {
      store.refresh();
      download(data.list, store.list());
      return { written: [], same: 0, skipped: [], refused: [], exported: data.list };
    }),
  };
}
