// The page: display, keys, and decisions, which are shown once they are on the disk.

import { connect } from "./backend.js";
import { helpDialog, isUndecided, othersDialog, overviewDialog, savedDialog, searchDialog, trainDialog, unlinkedDialog } from "./dialogs.js";
import { make } from "./elements.js";
import { showInspector } from "./inspector.js";
import { fill, nameOf, placeIn, prepared, rangeOf, showDocument } from "./reading.js";
import { movedBoundary, runsFromRight, wordsOf } from "./text.js";
import { currentLanguage, word } from "./words.js";

const PART = 100; // rows of the list that the browser lays out, or skips when out of view, together
const POLL = 1500; // milliseconds between requests for the progress of reading

class App {
  constructor(backend) {
    this.backend = backend;
    this.listing = null;
    this.letter = null; // the letter on display, with its documents; null where it cannot be read
    this.at = null; // the number of the letter on display
    this.current = null; // {d, id}: document and id of the current name
    this.order = "text";
    this.linking = false;
    this.markup = null;
    this.others = 0;
    this.worklist = false; // whether the list of forms without a link comes back after a decision
    this.entries = new Map(); // entity to its description
    this.hasKeys = true;
    this.busy = Promise.resolve();
  }

  async start() {
    this.bind();
    this.speak();
    await this.refresh();
    if (!this.listing?.letters.length) return;
    const wanted = Number(location.hash.slice(1));
    const first = location.hash && this.row(wanted) ? wanted : (this.listing.letters.find((row) => row.open) || this.listing.letters[0]).n;
    await this.goTo(first);
    this.poll();
  }

  // Requests

  async attempt(ask) {
    try {
      return await ask();
    } catch (error) {
      if (error.status === undefined) throw error;
      this.status = error.status;
      this.say(error.status === 409 ? word("conflict") : error.status ? error.message : word("offline"), true);
      if (error.status === 409) await this.reload();
      return null;
    }
  }

  async refresh() {
    const said = this.listing?.isReadOnly ? document.getElementById("filter").value : "";
    const found = await this.attempt(() => this.backend.letters(said));
    if (!found) return false;
    this.listing = { ...found, at: new Map(found.letters.map((row, index) => [row.n, index])) };
    if (found.isReadOnly) this.readOnly();
    document.getElementById("train-button").hidden = !found.canTrain;
    this.showList();
    if (found.unreadable.length) this.say(found.unreadable.join(" "), true);
    return true;
  }

  async poll(wait = POLL) {
    const isOpen = (row) => !row.isRead || row.isWaiting;
    if (!this.listing.letters.some(isOpen) || this.backend.isStill) return;
    await new Promise((done) => setTimeout(done, wait));
    const wasWaiting = this.letter && this.letter.row.isWaiting;
    const isAnswered = await this.refresh();
    if (wasWaiting && this.letter && !this.row(this.letter.n).isWaiting) await this.reload();
    this.showCounts();
    this.poll(isAnswered ? POLL : 20 * POLL);
  }

  async reload() {
    if (!this.letter) return;
    const { n } = this.letter;
    const found = await this.attempt(() => this.backend.letter(n));
    if (found) this.take(found, n);
  }

  // Show a letter; true if it is on display then. Without an answer, the one before stays.
  async goTo(n) {
    if (this.letter && this.letter.n === n) return true;
    const began = performance.now();
    const found = await this.attempt(() => this.backend.letter(n));
    if (!found) {
      if (this.status === 500) this.showProblem(n);
      return false;
    }
    this.current = this.markup = null;
    this.linking = false;
    this.take(found, n);
    history.replaceState(null, "", `#${n}`);
    document.getElementById("letter").scrollTop = 0;
    this.shutList();
    performance.measure("letter", { start: began });
    return true;
  }

  async goToPlace(hit) {
    if (await this.goTo(hit.letter)) this.show(hit);
  }

  take(found, n) {
    this.letter = { ...found, n, documents: prepared(found.documents) };
    this.at = n;
    if (this.current && !this.item()) this.current = null;
    this.note(found);
    this.showLetter();
  }

  note({ row, journal }) {
    if (this.listing.at.has(row.n)) this.listing.letters[this.listing.at.get(row.n)] = row;
    this.listing.journal = journal;
  }

  // Display

  speak() {
    document.documentElement.lang = currentLanguage();
    for (const element of document.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
    for (const element of document.querySelectorAll("[data-name]")) {
      const keys = element.dataset.key ? ` (${element.dataset.key})` : "";
      element.setAttribute("aria-label", word(element.dataset.name));
      if (element.tagName === "BUTTON") element.title = word(element.dataset.name) + keys;
    }
    for (const element of document.querySelectorAll("[data-hint]")) element.placeholder = word(element.dataset.hint);
    if (this.listing) this.showList();
    if (this.letter) this.showLetter();
  }

  say(message, isAlarm) {
    const element = document.getElementById("say");
    element.textContent = message;
    element.classList.toggle("alarm", Boolean(isAlarm));
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (element.textContent = ""), isAlarm ? 9000 : 2600);
  }

  row(n) {
    return this.listing.letters[this.listing.at.get(n)];
  }

  // Adapt the page to a dataset, which can only be read.
  readOnly() {
    for (const id of ["undo", "redo", "save", "search-button", "overview-button", "done"]) document.getElementById(id).hidden = true;
    document.getElementById("only-open").parentElement.hidden = true;
    document.getElementById("filter").placeholder = word("filterRows");
    document.getElementById("letter").classList.add("read");
  }

  showList() {
    const needle = this.listing.isReadOnly ? "" : document.getElementById("filter").value.toLowerCase();
    const onlyOpen = document.getElementById("only-open").checked;
    const rows = this.listing.letters.filter((row) => (!onlyOpen || row.open) && `${row.title} ${row.name}`.toLowerCase().includes(needle));
    const parts = Array.from({ length: Math.ceil(rows.length / PART) }, (_, n) => rows.slice(n * PART, (n + 1) * PART));
    document.getElementById("letters").replaceChildren(...parts.map((part) => {
      const element = make("div", { class: "part", role: "presentation" }, part.map((row) => make("div", { class: "row", role: "listitem", "data-n": row.n }, this.rowLink(row))));
      element.style.setProperty("--rows", part.length);
      return element;
    }));
  }

  rowLink(row) {
    const state = this.listing.isReadOnly ? String(row.decided) : row.error ? "!" : !row.isRead ? "…" : row.open ? word("nOpen", row.open) : row.decided ? "✓" : row.isWaiting ? "…" : "";
    const isCurrent = this.letter && this.letter.n === row.n;
    return make("a", { href: `#${row.n}`, "aria-current": isCurrent ? "true" : null, title: row.name, onclick: (event) => { event.preventDefault(); this.goTo(row.n); } }, make("span", { class: "letter-title" }, row.title), make("span", { class: `state ${row.isRead && !row.open && row.decided ? "done" : ""}` }, state), this.isAlike(row) && make("span", { class: "file" }, row.name));
  }

  // Whether the beginning of the title is that of another letter, too.
  isAlike(row) {
    if (!this.listing.beginnings) {
      this.listing.beginnings = new Map();
      for (const each of this.listing.letters) this.listing.beginnings.set(each.title.slice(0, 30), (this.listing.beginnings.get(each.title.slice(0, 30)) || 0) + 1);
    }
    return !this.listing.isReadOnly && this.listing.beginnings.get(row.title.slice(0, 30)) > 1;
  }

  showRow(n) {
    const item = document.querySelector(`#letters [data-n="${n}"]`);
    if (item) item.replaceChildren(this.rowLink(this.row(n)));
  }

  showCounts() {
    if (!this.letter) return;
    const row = this.row(this.letter.n) || this.letter.row;
    if (this.listing.isReadOnly) {
      const { letters, isMore, all } = this.listing;
      document.getElementById("counts").textContent = word("rows", letters.length, isMore, all);
      return;
    }
    const all = this.listing.letters, read = all.filter((each) => each.isRead).length;
    document.getElementById("counts").textContent = [word("counts", row.open, row.decided), read < all.length ? word("reading", read, all.length) : ""].filter(Boolean).join(" · ");
    const done = document.getElementById("done");
    done.max = Math.max(1, row.open + row.decided);
    done.value = row.decided;
    document.getElementById("undo").disabled = !this.listing.journal.undo;
    document.getElementById("redo").disabled = !this.listing.journal.redo;
    document.title = `${row.open ? `(${row.open}) ` : ""}${row.title} · Onoma`;
  }

  showProblem(n) {
    const said = document.getElementById("say").textContent;
    this.letter = this.current = this.chosen = null;
    this.at = n;
    document.title = document.getElementById("title").textContent = this.row(n).title;
    document.getElementById("counts").textContent = "";
    document.getElementById("letter").replaceChildren(make("article", {}, make("h2", {}, word("noLetter")), make("p", {}, this.row(n).error || said)));
    showInspector(this);
  }

  showLetter() {
    const previous = document.querySelector("#letters a[aria-current]");
    if (previous) previous.removeAttribute("aria-current");
    this.showRow(this.letter.n);
    document.querySelector(`#letters [data-n="${this.letter.n}"]`)?.scrollIntoView({ block: "nearest" });
    document.getElementById("title").textContent = this.letter.row.title;
    const main = document.getElementById("letter");
    main.replaceChildren(...this.letter.documents.map((one, d) => showDocument(one, this.letter.items[d], this.listing.labels)));
    this.showCurrent();
    this.showCounts();
    this.followPage();
  }

  article(d) {
    return document.querySelector(`#letter article[data-document="${d}"]`);
  }

  document() {
    return this.letter.documents[this.current ? this.current.d : (this.chosen && this.chosen.d) || 0];
  }

  item() {
    return this.current ? this.letter.items[this.current.d].find((item) => item.id === this.current.id) || null : null;
  }

  formOf(item) {
    return this.letter.documents[this.current.d].text.slice(item.start, item.end).replace(/\s+/g, " ");
  }

  tone(label) {
    const index = this.listing.labels.indexOf(label);
    return index < 0 ? "tone-none" : `tone-${index % 7}`;
  }

  entryOf(entity) {
    return this.entries.get(entity) || (this.letter.entries || {})[entity];
  }

  showCurrent({ scroll = true, focus = true } = {}) {
    for (const each of document.querySelectorAll(".item.current")) {
      each.classList.remove("current");
      each.tabIndex = -1;
    }
    const item = this.item();
    if (item) {
      const found = this.article(this.current.d).querySelectorAll(`[data-id="${CSS.escape(item.id)}"]`);
      found.forEach((each) => each.classList.add("current"));
      if (found[0]) {
        found[0].tabIndex = 0;
        if (focus) found[0].focus({ preventScroll: true });
        if (scroll) this.reveal(found[0]);
      }
    }
    showInspector(this);
  }

  reveal(element) {
    const main = document.getElementById("letter");
    const place = element.getBoundingClientRect(), view = main.getBoundingClientRect();
    if (place.top < view.top + 60 || place.bottom > view.bottom - 120) main.scrollTop += place.top - view.top - view.height * 0.35;
  }

  // Navigation

  items() {
    return this.letter.items.flatMap((list, d) => list.map((item) => ({ d, item })));
  }

  async step(direction, { onlyOpen }) {
    const all = this.items();
    let wanted = onlyOpen ? all.filter(({ d, item }) => item.status === "open" || this.isCurrent(d, item)) : all;
    if (onlyOpen && this.order === "uncertain") wanted = wanted.toSorted((a, b) => this.doubt(a.item) - this.doubt(b.item));
    const at = wanted.findIndex(({ d, item }) => this.isCurrent(d, item));
    const next = at < 0 ? wanted[direction > 0 ? 0 : wanted.length - 1] : wanted[at + direction];
    if (next && !(at < 0 && onlyOpen && next.item.status !== "open")) return this.look(next.d, next.item.id);
    if (!onlyOpen) return this.stepToLetter(direction);
    if (direction > 0) {
      const around = wanted.find(({ d, item }) => item.status === "open" && !this.isCurrent(d, item));
      if (around) return this.look(around.d, around.item.id);
      return this.goToNextOpenLetter();
    }
  }

  // Go to the first name of the next letter that has any, or to the last name of the previous one.
  async stepToLetter(direction) {
    const rows = this.listing.letters.filter((row) => (row.n - this.letter.n) * direction > 0 && row.open + row.decided);
    if (!rows.length) return;
    if (!(await this.goTo((direction > 0 ? rows[0] : rows.at(-1)).n))) return;
    const all = this.items();
    const { d, item } = all[direction > 0 ? 0 : all.length - 1];
    this.look(d, item.id);
  }

  doubt(item) {
    return Math.abs((item.probability ?? 0.5) - 0.5);
  }

  isCurrent(d, item) {
    return this.current && this.current.d === d && this.current.id === item.id;
  }

  look(d, id, how) {
    getSelection().removeAllRanges();
    this.chosen = null;
    this.linking = false;
    this.markup = null;
    this.others = 0;
    this.current = { d, id };
    this.showCurrent(how);
    const item = this.item();
    if (item) this.countOthers(item);
  }

  // Search for other places of the form, once no key was pressed for a while.
  countOthers(item) {
    clearTimeout(this.counting);
    this.counting = setTimeout(() => this.countOthersNow(item), 250);
  }

  async countOthersNow(item) {
    if (this.item()?.id !== item.id || this.listing.isReadOnly) return;
    const form = this.formOf(item);
    const found = await this.attempt(() => this.backend.occurrences(form));
    if (!found || this.item()?.id !== item.id || this.linking) return;
    const others = found.found.filter((hit) => isUndecided(hit, item) && !(hit.letter === this.letter.n && hit.start === item.start));
    if (this.others !== others.length) {
      this.others = others.length;
      showInspector(this);
    }
  }

  nextOpenLetter() {
    const rows = this.listing.letters, here = this.at ?? -1;
    const next = rows.find((row) => row.n > here && row.open) || rows.find((row) => row.n < here && row.open);
    return next ? next.n : null;
  }

  async goToNextOpenLetter() {
    const next = this.nextOpenLetter();
    if (next === null) {
      this.current = null;
      this.showCurrent();
      return this.say(word("nothingOpen"));
    }
    return (await this.goTo(next)) && this.step(1, { onlyOpen: true });
  }

  async turn(direction) {
    const next = this.listing.letters[(this.listing.at.get(this.at) ?? -direction) + direction];
    if (next) await this.goTo(next.n);
  }

  // Decisions

  decided(wanted) {
    this.busy = this.busy.then(() => this.decideNow(wanted)).catch((error) => this.say(String(error), true));
    return this.busy;
  }

  async decideNow(wanted) {
    const list = wanted();
    if (!list) return null;
    const answer = await this.attempt(() => this.backend.decide(list));
    if (answer) {
      this.say(""); // that an earlier one failed is over
      this.apply(answer);
    }
    return answer;
  }

  apply(answer) {
    for (const [n, state] of Object.entries(answer.letters)) {
      this.note(state);
      if (this.letter && this.letter.n === Number(n)) this.update(state);
      else this.showRow(Number(n));
    }
    this.listing.journal = answer.journal;
    this.showCounts();
  }

  update(state) {
    const before = this.letter.items;
    Object.assign(this.letter, { items: state.items, row: state.row, sha256: state.sha256 });
    this.letter.documents.forEach((one, d) => {
      const changed = changedSpans(before[d], state.items[d]);
      for (const block of one.blocks) {
        if (!changed.some((span) => span.start < block.end && block.start < span.end)) continue;
        const element = this.article(d).querySelector(`[data-block="${block.index}"]`);
        if (element) fill(element, one, block, state.items[d], this.listing.labels);
      }
    });
    this.showRow(this.letter.n);
    if (this.markup) this.lookAtMarkup();
  }

  asking(item, values) {
    const { start, end, label, entity, status, remark = "" } = item;
    return { letter: this.letter.n, sha256: this.letter.sha256, document: this.current.d, id: item.id, was: { start, end, label, entity, status }, start, end, label, entity, remark, ...values };
  }

  // Change the current name; then the changed name is current or, with goOn, the next open one.
  change(values, { goOn = false } = {}) {
    return this.decided(() => {
      const item = this.item();
      const made = item && (typeof values === "function" ? values(item) : values);
      return made ? [this.asking(item, made)] : null;
    }).then((answer) => {
      if (!answer) return;
      const item = this.item() || { id: answer.item };
      this.current = { d: answer.document, id: answer.item };
      if (!this.item()) this.current = null;
      this.showCurrent({ scroll: false });
      if (goOn) return this.step(1, { onlyOpen: true });
      if (this.item()) {
        this.say(nameOf(this.item(), this.formOf(this.item())));
        this.countOthers(item);
      }
    });
  }

  accept() {
    if (this.item()?.own) return this.step(1, { onlyOpen: false });
    return this.change({ status: "accepted" }, { goOn: true });
  }

  reject() {
    return this.change({ status: "rejected" }, { goOn: !this.item()?.own });
  }

  reopen() {
    return this.change({ status: "open" });
  }

  setLabel(label) {
    return this.change({ status: "accepted", label });
  }

  link(entity) {
    this.linking = false;
    const { worklist } = this;
    return this.change({ status: "accepted", entity }).then(() => worklist && this.item() && (entity ? othersDialog(this, this.item()) : this.showWorklist()));
  }

  // Make an entry of the register, and link the current name to it.
  makeEntry(values) {
    this.linking = false;
    this.busy = this.busy.then(() => this.attempt(() => this.backend.entry({ ...this.asking(this.item(), { status: "accepted" }), ...values })));
    return this.busy.then((answer) => {
      if (!answer) return;
      this.apply(answer);
      this.current = { d: answer.document, id: answer.item };
      const { entity } = this.item();
      this.entries.set(entity, { entity, name: values.name, about: values.note });
      this.showCurrent({ scroll: false });
      this.say(nameOf(this.item(), this.formOf(this.item())));
    });
  }

  remark(remark) {
    this.linking = false;
    return this.change((item) => ({ status: item.status === "rejected" ? "rejected" : "accepted", remark }));
  }

  showWorklist() {
    this.worklist = false;
    return unlinkedDialog(this);
  }

  move(side, step, unit) {
    return this.change((item) => {
      const one = this.document();
      const block = one.blocks.find((each) => each.start <= item.start && item.start < each.end);
      const moved = block && movedBoundary(one.text, block, item, { side, step, unit, lang: one.lang });
      if (!moved) this.say(word("noFurther"));
      return moved ? { ...moved, status: "accepted" } : null;
    });
  }

  // Decide places like a name; if the name is open, it is accepted with them.
  async decideAlike(item, hits) {
    const status = item.status === "open" ? "accepted" : item.status;
    const asks = hits.map((hit) => {
      const was = hit.item;
      const own = was ? { id: was.id, was } : { id: "" };
      return { letter: hit.letter, document: hit.document, ...own, start: hit.start, end: hit.end, label: item.label, entity: item.entity, status };
    });
    if (item.status === "open") asks.push(this.asking(item, { status }));
    const wanted = asks.filter((ask) => ask.status === "accepted" || ask.id);
    if (!wanted.length) return;
    const answer = await this.decided(() => wanted);
    if (answer) {
      this.others = 0;
      this.showCurrent({ scroll: false });
      this.say(word("found", wanted.length));
      if (this.worklist) this.showWorklist();
    }
  }

  async takeBack(kind) {
    this.busy = this.busy.then(() => this.attempt(() => this.backend[kind]()));
    const answer = await this.busy;
    if (!answer) return;
    const isShown = await this.goTo(answer.letter);
    this.apply(answer);
    if (!isShown) return;
    this.current = { d: answer.document, id: answer.item };
    if (!this.item()) this.current = null;
    this.showCurrent();
    this.say(word(kind === "undo" ? "undone" : "redone"));
  }

  // New names

  selected() {
    return this.chosen;
  }

  // The browser's selection as a span of the text, without white space around it; null if none.
  readSelection() {
    const selection = getSelection();
    const article = selection.anchorNode && (selection.anchorNode.nodeType === Node.TEXT_NODE ? selection.anchorNode.parentElement : selection.anchorNode).closest?.("#letter article");
    if (!article || selection.isCollapsed || !this.letter) return null;
    const range = selection.getRangeAt(0);
    const one = this.letter.documents[Number(article.dataset.document)];
    let start = placeIn(range.startContainer, range.startOffset), end = placeIn(range.endContainer, range.endOffset);
    if (start === null || end === null) return null;
    while (start < end && one.text.isSpace(start)) start += 1;
    while (start < end && one.text.isSpace(end - 1)) end -= 1;
    return start < end ? { d: one.number, start, end, form: one.text.slice(start, end).replace(/\s+/g, " ") } : null;
  }

  noteSelection() {
    const chosen = this.readSelection();
    if (JSON.stringify(chosen) === JSON.stringify(this.chosen ?? null)) return;
    this.chosen = chosen;
    if (chosen) this.current = null;
    this.showCurrent({ scroll: false, focus: false });
  }

  // Show a place that was found: the name there, or the selected text.
  show({ document: d, start, end }) {
    const known = this.letter.items[d].find((item) => item.start === start && item.end === end);
    return known ? this.look(d, known.id) : this.select(d, start, end);
  }

  select(d, start, end) {
    this.current = null;
    const range = rangeOf(this.article(d), start, end);
    if (!range) return;
    document.getElementById("letter").focus({ preventScroll: true });
    getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
    this.reveal(range.startContainer.parentElement);
    this.noteSelection();
  }

  // Select a word by keys: the one after the current name or selection, or the first in view.
  chooseWord() {
    const before = this.item() || this.chosen;
    const d = (this.current || this.chosen)?.d ?? 0;
    if (!this.article(d)) return; // an empty letter
    const words = this.words(d);
    const from = before ? before.end : this.firstInView(d);
    const found = words.find(([start]) => start >= from) || words[0];
    if (!found) return;
    this.select(d, ...found);
    this.say(word("cursor"));
  }

  firstInView(d) {
    const top = document.getElementById("letter").getBoundingClientRect().top;
    const run = [...this.article(d).querySelectorAll(".t")].find((each) => each.getBoundingClientRect().bottom > top + 20);
    return run ? run.at : 0;
  }

  words(d) {
    const one = this.letter.documents[d];
    one.words ||= one.blocks.flatMap((block) => wordsOf(one.text, block.start, block.end, one.lang));
    return one.words;
  }

  moveSelection(step, isExtending) {
    const { d, start, end } = this.chosen;
    const words = this.words(d);
    if (!isExtending) {
      const next = step > 0 ? words.find((each) => each[0] >= end) : words.findLast((each) => each[1] <= start);
      return next && this.select(d, ...next);
    }
    const block = this.letter.documents[d].blocks.find((each) => each.start <= start && start < each.end);
    const places = words.map((each) => each[1]).filter((place) => !block || place <= block.end); // a name stays in its paragraph
    const next = step > 0 ? places.find((place) => place > end) : places.findLast((place) => place < end && place > start);
    if (next) this.select(d, start, next);
  }

  addName(label) {
    const { d, start, end } = this.chosen;
    return this.decided(() => [{ letter: this.letter.n, sha256: this.letter.sha256, document: d, id: "", start, end, label, entity: "", status: "accepted" }]).then((answer) => {
      if (answer) this.look(answer.document, answer.item, { scroll: false });
    });
  }

  // The image of the page that is read, beside the text.
  toggleFacsimile() {
    const figure = document.getElementById("facsimile");
    if (figure.hidden && !document.querySelector(".pb[data-image]")) return this.say(word("noFacsimile"));
    figure.hidden = !figure.hidden;
    document.body.classList.toggle("facsimile", !figure.hidden);
    this.followPage();
  }

  followPage() {
    const figure = document.getElementById("facsimile");
    if (figure.hidden) return;
    const pages = [...document.querySelectorAll(".pb[data-image]")];
    const line = document.getElementById("letter").getBoundingClientRect().top + 200;
    const page = pages.findLast((each) => each.getBoundingClientRect().top < line) || pages[0];
    const image = figure.firstElementChild;
    if (!page) image.removeAttribute("src");
    else if (image.getAttribute("src") !== page.dataset.image) Object.assign(image, { src: page.dataset.image, alt: page.textContent });
  }

  // Other actions

  // Open the panel that links the current name, or that remarks on it.
  startLinking(what = "link") {
    if (!this.item()) return;
    this.linking = what;
    showInspector(this);
  }

  stopLinking() {
    this.linking = false;
    this.showCurrent({ scroll: false });
  }

  async toggleMarkup() {
    this.markup = this.markup ? null : {};
    if (this.markup) await this.lookAtMarkup();
    showInspector(this);
    const shown = document.getElementById("markup"), panel = document.getElementById("inspector");
    if (shown && shown.getBoundingClientRect().top > panel.getBoundingClientRect().bottom - 120) shown.scrollIntoView();
  }

  async lookAtMarkup() {
    const span = this.item() || this.chosen || { start: 0 };
    const one = this.document();
    const block = one?.blocks.find((each) => each.start <= span.start && span.start < each.end);
    if (!block) {
      this.markup = null;
      return this.say(word("noTei"), true);
    }
    const found = await this.attempt(() => this.backend.markup(this.letter.n, one.number, block.index));
    this.markup = found;
    showInspector(this);
  }

  showOthers() {
    const item = this.item();
    if (item) othersDialog(this, item);
  }

  async save() {
    const report = await this.attempt(() => this.backend.save());
    if (!report) return;
    if (report.exported) return this.say(word("exported", report.exported));
    if (!report.written.length && !report.same && !report.refused.length) return this.say(word("savedNothing"));
    if (report.refused.length || report.skipped.length) return savedDialog(report, (n) => this.row(n).title);
    this.say([report.written.length ? word("saved", report.written.length) : "", report.same ? word("savedSame", report.same) : "", report.registers?.join(", "), report.reference && word("linksAs", report.reference)].filter(Boolean).join(" · "));
  }

  // Close the list of letters, which covers the page in narrow windows.
  shutList() {
    document.getElementById("list").classList.remove("shown");
    document.getElementById("list-button").setAttribute("aria-expanded", "false");
  }

  // Reload everything after another tagger was put into use.
  async suggestAgain() {
    this.current = null;
    await this.refresh();
    await this.reload();
    this.poll();
  }

  useKeys(on) {
    this.hasKeys = on;
  }

  // Events

  bind() {
    const on = (id, action) => document.getElementById(id).addEventListener("click", action);
    on("undo", () => this.takeBack("undo"));
    on("redo", () => this.takeBack("redo"));
    on("save", () => this.save());
    on("help-button", () => helpDialog(this));
    on("overview-button", () => overviewDialog(this));
    on("search-button", () => searchDialog(this));
    on("train-button", () => trainDialog(this));
    const list = document.getElementById("list"), listButton = document.getElementById("list-button");
    on("list-button", () => {
      listButton.setAttribute("aria-expanded", String(list.classList.toggle("shown")));
      if (list.classList.contains("shown")) document.getElementById("filter").focus();
    });
    list.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !list.classList.contains("shown")) return;
      event.stopPropagation();
      this.shutList();
      listButton.focus();
    });
    document.addEventListener("pointerdown", (event) => event.target.closest?.("#list, #list-button") || this.shutList());
    document.getElementById("filter").addEventListener("input", () => {
      if (!this.listing.isReadOnly) return this.showList();
      clearTimeout(this.filtering);
      this.filtering = setTimeout(() => this.refresh().then(() => this.showCounts()), 200);
    });
    document.getElementById("only-open").addEventListener("change", () => this.showList());
    document.getElementById("letter").addEventListener("click", (event) => {
      const found = event.target.closest?.(".item");
      if (found && getSelection().isCollapsed) this.look(Number(found.closest("article").dataset.document), found.dataset.id, { scroll: false });
    });
    document.getElementById("letter").addEventListener("scroll", () => this.followPage(), { passive: true });
    document.addEventListener("selectionchange", () => {
      clearTimeout(this.selecting);
      this.selecting = setTimeout(() => this.letter && !this.listing.isReadOnly && !this.linking && this.noteSelection(), 60);
    });
    document.addEventListener("keydown", (event) => this.onKey(event));
    const dialog = document.getElementById("dialog");
    dialog.addEventListener("close", () => document.body.append(document.getElementById("say")));
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.target.type !== "search") return;
      event.preventDefault(); // by default, Escape only empties the field
      dialog.close();
    });
    addEventListener("hashchange", () => this.listing && this.row(Number(location.hash.slice(1))) && this.goTo(Number(location.hash.slice(1))));
  }

  onKey(event) {
    const { target } = event;
    if (document.getElementById("dialog").open || event.altKey) return;
    if (target.closest?.("input, textarea, select")) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const action = isCommand ? !this.listing?.isReadOnly && this.commandFor(event) : this.hasKeys && this.actionFor(event);
    if (!action || this.at === null) return;
    event.preventDefault();
    const began = event.timeStamp;
    Promise.resolve(action()).then(() => performance.measure("key", { start: began }));
  }

  commandFor(event) {
    const name = event.key.toLowerCase();
    if (name === "z") return () => this.takeBack(event.shiftKey ? "redo" : "undo");
    if (name === "y") return () => this.takeBack("redo");
    if (name === "s") return () => this.save();
    if (name === "f") return () => searchDialog(this);
    return this.arrowFor(event, "character");
  }

  arrowFor(event, unit) {
    let step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const span = this.chosen || this.item();
    if (!step || !span) return null;
    if (runsFromRight(this.document().text.slice(span.start, span.end))) step = -step;
    if (this.chosen) return () => this.moveSelection(step, event.shiftKey);
    return this.current ? () => this.move(event.shiftKey ? "start" : "end", step, unit) : null;
  }

  actionFor(event) {
    const digit = !this.listing.isReadOnly && /^[1-9]$/.test(event.key) ? this.listing.labels[Number(event.key) - 1] : null;
    if (digit) return this.chosen ? () => this.addName(digit) : this.current ? () => this.setLabel(digit) : null;
    if (this.listing.isReadOnly && !"npkjl?[],.".includes(event.key) && event.key !== "Escape") return null;
    if (!this.letter && !"jzysrg[],./?".includes(event.key.toLowerCase())) return null;
    const isButton = event.target.closest?.("button, a");
    const named = event.key === "Enter" && isButton ? null : KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    return named ? () => named(this) : this.arrowFor(event, "word");
  }
}

const KEYS = {
  j: (app) => (app.letter ? app.step(1, { onlyOpen: true }) : app.goToNextOpenLetter()),
  k: (app) => app.step(-1, { onlyOpen: true }),
  n: (app) => app.step(1, { onlyOpen: false }),
  p: (app) => app.step(-1, { onlyOpen: false }),
  a: (app) => app.current && app.accept(),
  Enter: (app) => app.current && app.accept(),
  x: (app) => app.current && app.reject(),
  Delete: (app) => app.current && app.reject(),
  b: (app) => app.current && app.reopen(),
  e: (app) => app.startLinking(),
  m: (app) => app.startLinking("remark"),
  w: (app) => app.showWorklist(),
  o: (app) => app.showOthers(),
  i: (app) => app.chooseWord(),
  t: (app) => app.toggleMarkup(),
  z: (app) => app.takeBack("undo"),
  y: (app) => app.takeBack("redo"),
  s: (app) => app.save(),
  u: (app) => {
    app.order = app.order === "text" ? "uncertain" : "text";
    app.say(word(app.order === "text" ? "orderText" : "orderUncertain"));
  },
  r: (app) => app.listing.canTrain && trainDialog(app),
  l: () => document.getElementById("letter").classList.toggle("lines"),
  f: (app) => app.toggleFacsimile(),
  g: (app) => overviewDialog(app),
  "[": (app) => app.turn(-1),
  ",": (app) => app.turn(-1),
  "]": (app) => app.turn(1),
  ".": (app) => app.turn(1),
  "/": (app) => searchDialog(app),
  "?": (app) => helpDialog(app),
  Escape: (app) => {
    getSelection().removeAllRanges();
    app.current = app.chosen = app.markup = null;
    app.showCurrent();
  },
};

// The items that are in only one of two lists, or differ.
function changedSpans(before, after) {
  const said = (item) => JSON.stringify(item);
  const old = new Set(before.map(said)), made = new Set(after.map(said));
  return [...before.filter((item) => !made.has(said(item))), ...after.filter((item) => !old.has(said(item)))];
}

new App(connect()).start();
