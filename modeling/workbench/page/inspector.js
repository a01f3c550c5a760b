// The panel of the current name: its properties and the actions on it.

import { make, key } from "./elements.js";
import { word, currentLanguage } from "./words.js";
import { percent } from "./reading.js";

const NEW = "new entry"; // in place of an entity

export function showInspector(app) {
  const panel = document.getElementById("inspector");
  if (!app.letter) return panel.replaceChildren();
  const item = app.item();
  const body = app.linking ? [] : [app.selected() ? selection(app) : item ? about(app, item) : summary(app)];
  if (app.linking && item) body.push(heading(app, item), { remark: remarkPanel, entry: entryForm }[app.linking]?.(app, item) || linkPanel(app, item));
  panel.replaceChildren(...body.flat());
  if (app.markup) panel.append(markupPanel(app.markup));
}

function heading(app, item) {
  const form = app.formOf(item);
  const verdict = item.own && item.status === "rejected" ? "removed" : item.own && !item.isChanged ? "ofEdition" : item.status !== "accepted" ? item.status : item.isNew ? "added" : item.isChanged ? "corrected" : "accepted";
  const sure = item.probability !== null && item.probability !== undefined && make("span", {}, `${word("probability")} ${percent(item.probability)}`);
  const by = item.time && make("span", {}, word("by", item.reviewer, new Date(item.time).toLocaleString(currentLanguage(), { dateStyle: "medium", timeStyle: "short" })));
  return make("div", { class: app.tone(item.label) }, make("h2", { lang: app.document().lang || null }, form), make("p", { class: "status" }, make("b", {}, item.label), make("span", {}, item.origin || word(verdict)), sure, by));
}

function about(app, item) {
  if (app.listing.isReadOnly) return [heading(app, item), entityPanel(app, item)];
  const isDone = !["open", "there"].includes(item.status);
  const button = (name, keys, action, kind) => make("button", { class: kind || "", onclick: action }, word(name), key(keys));
  const actions = make("div", { class: "actions" },
    item.own ? null : button("accept", "A", () => app.accept(), item.status === "accepted" ? "" : "yes"),
    button(item.own ? "remove" : "reject", "X", () => app.reject()),
    button("link", "E", () => app.startLinking()),
    button("remark", "M", () => app.startLinking("remark")),
    isDone ? button("reopen", "B", () => app.reopen()) : button("markup", "T", () => app.toggleMarkup()));
  const parts = [heading(app, item), actions, labels(app, item.label, (label) => app.setLabel(label)), entityPanel(app, item)];
  if (item.remark) parts.push(make("div", {}, make("h3", {}, word("remark")), make("p", {}, item.remark)));
  if (item.own) parts.push(make("div", {}, make("h3", {}, word("element")), make("p", { class: "markup" }, `<${[item.own.element, ...Object.entries(item.own.attributes).map(([name, value]) => `${name}="${value}"`)].join(" ")}>`)));
  if (app.others > 0) {
    parts.push(make("div", {}, make("p", { class: "hint" }, word("others", app.others)), make("button", { onclick: () => app.showOthers() }, word("decideOthers"), " ", key("O"))));
  }
  parts.push(make("div", { class: "wide" }, make("h3", {}, word("boundary")), make("p", { class: "hint" }, key("←", "→"), " ", word("boundaryKeys"))));
  return parts;
}

function labels(app, pressed, action) {
  const buttons = app.listing.labels.map((label, index) => make("button", { class: app.tone(label), "aria-pressed": pressed === undefined ? null : String(label === pressed), onclick: () => action(label) }, label, index < 9 ? key(String(index + 1)) : null));
  return make("div", {}, make("h3", {}, word("label")), make("div", { class: "labels" }, buttons));
}

function entityPanel(app, item) {
  const entry = app.entryOf(item.entity);
  const shown = item.entity ? [entry && make("span", { class: "entry-name" }, entry.name), " ", make("span", { class: "soft" }, [entry && entry.about, item.entity].filter(Boolean).join(" · "))] : make("span", { class: "soft" }, word("noEntity"));
  return make("div", {}, make("h3", {}, word("entity")), make("p", {}, shown));
}

function selection(app) {
  const { form } = app.selected();
  return [make("div", {}, make("p", { class: "caption" }, word("mark")), make("h2", { lang: app.document().lang || null }, form), make("p", { class: "hint" }, word("markHint", form))), labels(app, undefined, (label) => app.addName(label))];
}

function summary(app) {
  const row = app.letter.row;
  if (app.listing.isReadOnly) return [make("div", {}, make("h2", {}, row.title), make("p", { class: "hint" }, row.name)), make("p", { class: "hint" }, word("filterHow"))];
  const said = row.isWaiting ? word("waiting") : row.open ? word("start") : row.decided ? word("allDone") : word("nothingHere");
  const parts = [make("div", {}, make("h2", {}, row.title), make("p", { class: "hint" }, said))];
  if (app.letter.there) parts.push(make("p", { class: "hint" }, word("thereAlready", app.letter.there)));
  if (row.lost) parts.push(make("p", { class: "alarm" }, word("lost", row.lost)));
  if (!row.open && app.nextOpenLetter() !== null) parts.push(make("button", { onclick: () => app.goToNextOpenLetter() }, word("nextLetter"), " ", key("J")));
  parts.push(make("div", { class: "wide" }, make("h3", {}, word("mark")), make("p", { class: "hint" }, word("markHow"))));
  return parts;
}

function markupPanel({ is, will, skipped }) {
  const dedented = (text) => (text === undefined ? text : text.replace(/\n[ \t]+/g, "\n  "));
  const markup = { is: dedented(is), will: dedented(will), skipped };
  const parts = [make("h3", {}, `${word("markup")}, ${word("markupIs")}`), make("pre", { class: "markup", tabindex: "0", "aria-label": `${word("markup")}, ${word("markupIs")}` }, markup.is)];
  if (markup.will !== undefined) parts.push(make("h3", {}, `${word("markup")}, ${word("markupWill")}`), make("pre", { class: "markup", tabindex: "0", "aria-label": `${word("markup")}, ${word("markupWill")}` }, insertions(markup.is, markup.will)));
  if (markup.skipped) parts.push(make("p", { class: "alarm" }, markup.skipped));
  return make("section", { id: "markup" }, parts);
}

// The second text, with marks on its additions to the first, which are tags.
function insertions(before, after) {
  const made = [];
  let at = 0, same = "", added = "";
  const flush = () => {
    if (same) made.push(same);
    if (added) made.push(make("ins", {}, added));
    same = added = "";
  };
  for (let i = 0; i < after.length; ) {
    if (after[i] === "<" && /^<[^>]*onoma-[^>]*>/.test(after.slice(i, i + 400)) && !before.startsWith(after.slice(i, after.indexOf(">", i) + 1), at)) {
      const isRemark = /^<([\w-]+:)?note /.test(after.slice(i, i + 100)); // which is added with its text
      const end = after.indexOf(">", isRemark ? after.indexOf("</", i) : i) + 1;
      if (!added) flush();
      added += after.slice(i, end);
      i = end;
    } else if (after[i] === before[at]) {
      if (added) flush();
      same += after[i++];
      at += 1;
    } else {
      if (same) flush();
      added += after[i++];
    }
  }
  flush();
  return made;
}

// The form of a new entry, with the candidates of the services for its id elsewhere.
function entryForm(app, item) {
  const field = (name, value = "") => make("input", { class: "field", id: `entry-${name}`, value, "aria-label": word(name), placeholder: word(name) });
  const fields = { name: field("name", app.words || app.formOf(item)), note: field("note"), same: field("same") };
  const offers = make("ul", { class: "options" });
  const form = make("div", {}, make("h3", {}, word("newEntry", item.label)), Object.values(fields), offers, make("button", { class: "strong", id: "make-entry", onclick: () => send() }, word("makeEntry")));
  const send = () => app.makeEntry(Object.fromEntries(Object.entries(fields).map(([name, input]) => [name, input.value.trim()])));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT") send();
    else if (event.key === "Escape") app.stopLinking();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  app.listing.sources.slice(1).forEach(async (source, at) => {
    const found = await app.attempt(() => app.backend.entries(fields.name.value, "", item.label, at + 1));
    for (const entry of found?.entries || []) offers.append(make("li", {}, make("button", { onclick: () => { fields.same.value = entry.entity; } }, `${entry.name} · ${entry.entity}`, make("span", { class: "more" }, entry.about))));
  });
  queueMicrotask(() => fields.name.focus());
  return form;
}

function remarkPanel(app, item) {
  const input = make("input", { class: "field", id: "remark-input", value: item.remark || "", "aria-label": word("remark") });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") app.remark(input.value.trim());
    else if (event.key === "Escape") app.stopLinking();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  queueMicrotask(() => input.focus());
  return make("div", {}, make("h3", {}, word("remark")), input, make("p", { class: "hint" }, word("remarkHint")));
}

function linkPanel(app, item) {
  const list = make("ul", { class: "options", role: "listbox", id: "options", "aria-label": word("entity") });
  const input = make("input", { class: "field", id: "link-input", role: "combobox", "aria-expanded": "true", "aria-controls": "options", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", "aria-label": word("linkHint"), placeholder: word("linkHint") });
  let options = [], groups = [], own = [], errors = [], waiting = 0, chosen = 0, asked = 0, hasChosen = false;
  const choose = (index) => {
    chosen = Math.min(index, options.length - 1);
    [...list.children].forEach((child, number) => child.setAttribute("aria-selected", String(number === chosen)));
    const child = list.children[chosen];
    if (child && child.id) input.setAttribute("aria-activedescendant", child.id);
    child?.scrollIntoView({ block: "nearest" });
  };
  const { sources } = app.listing;
  const take = (option) => {
    if (option.entity !== NEW) return app.link(option.entity);
    if (app.backend.isStill) return app.attempt(app.backend.entry);
    app.words = input.value.trim();
    app.startLinking("entry");
  };
  const show = () => {
    const before = options[chosen]?.entity;
    options = [...groups.flat(), ...own].filter((option, at, all) => all.findIndex((other) => other.entity === option.entity) === at);
    list.replaceChildren(...options.map((option, number) => make("li", { role: "option", id: `option-${number}`, "aria-selected": "false", onclick: () => take(option) }, make("span", { class: "entry-name" }, option.name), sources.length > 1 && option.source && make("span", { class: "soft" }, ` ${option.source}`), make("span", { class: "more" }, option.about || option.entity), option.example && make("span", { class: "more" }, `${word("example")} „${option.example}“`))));
    const said = waiting ? word("asked") : word("noCandidates");
    if (!groups.flat().length) list.append(make("li", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "soft" }, said));
    for (const error of errors) list.append(make("li", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "alarm" }, error));
    choose(hasChosen ? Math.max(0, options.findIndex((option) => option.entity === before)) : options[0]?.entity && options[0].entity !== NEW ? 0 : -1); // neither a new entry nor no link is chosen by itself
  };
  const look = async () => {
    const number = ++asked;
    const query = input.value.trim();
    groups = sources.map(() => []);
    own = [];
    errors = [];
    hasChosen = false;
    waiting = sources.length;
    if (/^\S*[:#\d]\S*$/.test(query)) own.push({ entity: query, name: word("useId", query), about: "" });
    if (app.listing.entryLabels.includes(item.label)) own.push({ entity: NEW, name: word("newEntry", item.label), about: app.backend.isStill ? word("noEntry") : query || app.formOf(item) });
    if (item.entity && !query) own.push({ entity: "", name: word("unlink"), about: item.entity });
    show();
    if (query && sources.length > 1) await new Promise((done) => setTimeout(done, 250)); // wait until no key is pressed
    if (number !== asked || !input.isConnected) return;
    sources.forEach(async (source, at) => {
      const found = await app.attempt(() => app.backend.entries(query, app.formOf(item), item.label, at));
      if (number !== asked || !found || !app.linking) return;
      waiting -= 1;
      if (found.error) errors.push(found.error);
      groups[at] = found.entries.map((entry) => ({ ...entry, source }));
      for (const entry of found.entries) app.entries.set(entry.entity, entry);
      show();
    });
  };
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      hasChosen = true;
      choose(Math.max(0, chosen + (event.key === "ArrowDown" ? 1 : -1)));
    }
    else if (event.key === "Enter" && options[chosen]) take(options[chosen]);
    else if (event.key === "Escape") app.stopLinking();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  queueMicrotask(() => {
    input.focus();
    look();
  });
  return make("div", {}, make("h3", {}, word("link")), input, list);
}
