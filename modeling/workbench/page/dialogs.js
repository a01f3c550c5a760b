// The dialogs of the page: keys, search, other places, overview, results of saving, training.

import { make, key } from "./elements.js";
import { currentLanguage, word, switchLanguage } from "./words.js";

function openDialog(title, ...content) {
  const dialog = document.getElementById("dialog"), say = document.getElementById("say");
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), ...content.flat().filter(Boolean), make("div", { class: "foot" }, make("button", { class: "shut", onclick: () => dialog.close() }, word("close"), " ", key("Esc"))), say); // messages must be above the dialog
  if (!say.classList.contains("alarm")) say.textContent = "";
  if (!dialog.open) dialog.showModal();
  return dialog;
}

function inContext(hit, extra) {
  const parts = [make("span", { class: "line" }, tail(hit.before), make("mark", {}, hit.form), head(hit.after)), make("span", { class: "where" }, [hit.title, extra].filter(Boolean).join(" · "))];
  return parts;
}

const tail = (text) => text.replace(/\s+/g, " ");
const head = tail;

export function helpDialog(app) {
  const rows = word("keys").flatMap(([names, what]) => [key(...names), make("span", {}, what)]);
  const check = (name, checked, action) => make("label", { class: "hint" }, make("input", { type: "checkbox", checked, onchange: (event) => action(event.target.checked) }), " ", word(name));
  const dialog = openDialog(word("keysTitle"), make("div", { class: "key-list" }, rows));
  dialog.querySelector(".foot").prepend(
    check("singleKeys", app.hasKeys, (on) => app.useKeys(on)),
    make("button", { id: "language", onclick: () => { switchLanguage(); dialog.close(); app.speak(); } }, word("language")));
}

export function searchDialog(app) {
  const list = make("ul", { class: "hits" });
  const count = make("p", { class: "hint" });
  let asked = 0, timer = 0;
  const look = async () => {
    const number = ++asked;
    const found = await app.attempt(() => app.backend.search(input.value));
    if (!found || number !== asked) return;
    const total = found.found.length + found.more;
    count.textContent = input.value.trim() ? [word("found", total), found.unread ? word("unread", found.unread) : ""].filter(Boolean).join(" · ") : "";
    list.replaceChildren(...found.found.map((hit) => make("li", {}, make("button", { onclick: () => go(hit) }, inContext(hit)))));
  };
  const go = async (hit) => {
    document.getElementById("dialog").close();
    await app.goToPlace(hit);
  };
  const input = make("input", { class: "field", id: "search-input", type: "search", autocomplete: "off", "aria-label": word("searchHint"), placeholder: word("searchHint"), oninput: () => { clearTimeout(timer); timer = setTimeout(look, 90); } });
  input.addEventListener("keydown", (event) => {
    const first = list.querySelector("button");
    if (event.key === "ArrowDown" && first) first.focus();
    else if (event.key === "Enter" && first) first.click();
    else return;
    event.preventDefault();
  });
  walk(list, input);
  openDialog(word("search"), input, count, list);
  input.focus();
}

// Whether a place is offered for the same decision: it is open, or a name without the item's entity.
const isUnlinked = (hit, item) => ["accepted", "there"].includes(hit.status) && item.status === "accepted" && item.entity && hit.item && !hit.item.entity && hit.item.label === item.label;
export const isUndecided = (hit, item) => (hit.status === "open" && !item.own) || isUnlinked(hit, item);
// Whether a name of the edition can be corrected as another was.
const isAlike = (hit, item) => item.own && item.isChanged | (item.status === "rejected") && hit.status === "there" && hit.item && hit.item.label === item.own.label;

export async function othersDialog(app, item) {
  const form = app.formOf(item);
  const found = await app.attempt(() => app.backend.occurrences(form));
  if (!found) return;
  const here = (hit) => hit.letter === app.letter.n && hit.document === app.current.d && hit.start === item.start;
  const hits = found.found.filter((hit) => !here(hit) && (hit.status === "none" || isUndecided(hit, item) || isAlike(hit, item)));
  if (!hits.length && app.worklist) return app.showWorklist();
  if (!hits.length) return app.say(word("noOthers", form));
  const boxes = hits.map((hit) => make("input", { type: "checkbox", checked: isUndecided(hit, item) }));
  const decide = make("button", { class: "strong", id: "decide-others" });
  const chosen = () => hits.filter((_, index) => boxes[index].checked);
  const count = () => {
    decide.textContent = word("applyTo", chosen().length);
    decide.disabled = !chosen().length;
  };
  const all = make("input", { type: "checkbox", checked: boxes.every((box) => box.checked), onchange: () => { boxes.forEach((box) => (box.checked = all.checked)); count(); } });
  boxes.forEach((box) => box.addEventListener("change", count));
  decide.addEventListener("click", async () => {
    document.getElementById("dialog").close();
    await app.decideAlike(item, chosen());
  });
  const rows = hits.map((hit, index) => make("li", {}, make("label", {}, boxes[index], inContext(hit, word(hit.status)))));
  const about = make("p", { class: "hint" }, `${item.label}${item.entity ? ` · ${item.entity}` : ""} · ${word(item.status === "open" ? "accepted" : item.status)}`);
  const rest = [found.more ? word("more", found.more) : "", found.unread ? word("unread", found.unread) : ""].filter(Boolean).join(" · ");
  const dialog = openDialog(word("othersTitle", form), about, make("label", { class: "hint" }, all, " ", word("allPlaces")), make("ul", { class: "hits" }, rows), rest && make("p", { class: "hint" }, rest));
  dialog.querySelector(".foot").append(decide);
  count();
  decide.focus();
}

// The forms of names without a link, the frequent first: a form leads to its first place and to the
// candidates; when it is linked, all its places can be linked so, and the list comes back.
export async function unlinkedDialog(app) {
  const found = await app.attempt(() => app.backend.unlinked());
  if (!found) return;
  const go = async (row) => {
    document.getElementById("dialog").close();
    await app.goToPlace(row.first);
    app.worklist = true;
    app.startLinking();
  };
  const rows = found.rows.map((row) => make("li", {}, make("button", { onclick: () => go(row) }, inContext(row.first, [row.label, word("found", row.times), row.candidates.join(" | ")].filter(Boolean).join(" · ")))));
  const rest = [found.more ? word("more", found.more) : "", found.unread ? word("unread", found.unread) : ""].filter(Boolean).join(" · ");
  openDialog(word("unlinked"), make("p", { class: "hint" }, word(rows.length ? "unlinkedHint" : "noUnlinked")), make("ul", { class: "hits" }, rows), rest && make("p", { class: "hint" }, rest));
  walk(document.querySelector("#dialog .hits"));
  document.querySelector("#dialog .hits button")?.focus();
}

// Let the arrow keys move between the buttons of a list; above the first one is another element.
function walk(list, above) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [...list.querySelectorAll("button")];
    (all[all.indexOf(document.activeElement) + step] || above)?.focus();
    event.preventDefault();
  });
}

export async function overviewDialog(app) {
  const found = await app.attempt(() => app.backend.overview());
  if (!found) return;
  const filter = make("input", { class: "field", id: "forms-filter", type: "search", autocomplete: "off", "aria-label": word("filterForms"), placeholder: word("filterForms") });
  const tables = make("div", {});
  const show = () => {
    const needle = filter.value.toLowerCase();
    const fits = (row) => JSON.stringify(row).toLowerCase().includes(needle);
    tables.replaceChildren(
      make("h3", {}, word("contradictions")),
      found.contradictions.length ? formTable(app, found.contradictions.filter(fits).slice(0, 200)) : make("p", { class: "hint" }, word("noContradictions")),
      make("h3", {}, word("forms")), formTable(app, found.forms.filter(fits).slice(0, 200)),
      make("h3", {}, word("entities")), entityTable(app, found.entities.filter(fits).slice(0, 200)));
  };
  filter.addEventListener("input", show);
  show();
  const days = found.days.length ? [make("h3", {}, word("days")), table([word("day"), word("who"), word("decided")], found.days.map((day) => [day.day, day.reviewer, Object.entries(day.verdicts).map(([verdict, n]) => `${n} ${word("verdicts")[verdict]}`).join(", ")]))] : [];
  const errors = found.errors.length ? [make("h3", {}, word("errors")), found.errors.map((error) => make("p", { class: "alarm" }, error))] : [];
  const rest = [found.unread ? word("unread", found.unread) : "", found.more ? word("more", found.more) : ""].filter(Boolean).join(" · ");
  openDialog(word("overview"), filter, days, errors, tables, rest && make("p", { class: "hint" }, rest));
}

function table(heads, rows) {
  return make("table", { class: "figures" }, make("thead", {}, make("tr", {}, heads.map((each) => make(each ? "th" : "td", each ? { scope: "col" } : {}, each)))), make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell))))));
}

const counted = (counts) => Object.entries(counts).map(([what, n]) => `${what || "–"} × ${n}`).join(", ");

function formTable(app, rows) {
  const heads = [word("form"), word("label"), word("entity"), word("open")];
  return table(heads, rows.map((row) => [make("button", { onclick: () => concordanceDialog(app, row.form) }, row.form), counted(row.labels), counted(row.entities), String(row.open)]));
}

function entityTable(app, rows) {
  return table([word("entity"), word("times"), word("forms")], rows.map((row) => [[row.name, row.entity].filter(Boolean).join(" · "), String(row.times), Object.entries(row.forms).map(([form, n]) => [make("button", { onclick: () => concordanceDialog(app, form) }, `${form} × ${n}`), " "])].map((cell) => (Array.isArray(cell) ? make("span", {}, cell) : cell))));
}

// The dialog with all places of a form, each with a button that leads there.
async function concordanceDialog(app, form) {
  const found = await app.attempt(() => app.backend.occurrences(form));
  if (!found) return;
  const go = async (hit) => {
    document.getElementById("dialog").close();
    await app.goToPlace(hit);
  };
  const said = (hit) => [hit.item ? [hit.item.label, hit.item.entity].filter(Boolean).join(" ") : "", word(hit.status)].filter(Boolean).join(" · ");
  openDialog(form, make("p", { class: "hint" }, word("found", found.found.length + found.more)), make("ul", { class: "hits" }, found.found.map((hit) => make("li", {}, make("button", { onclick: () => go(hit) }, inContext(hit, said(hit)))))));
}

// The dialog that trains on the decisions, and shows the scores of the last training of this session.
export async function trainDialog(app) {
  const body = make("div", { id: "training" });
  const dialog = openDialog(word("train"), body);
  const act = async (what) => {
    if (what) body.setAttribute("aria-busy", "true"); // the first tagger of a session takes seconds to load
    const state = await app.attempt(() => app.backend.training(what));
    body.removeAttribute("aria-busy");
    show(state);
  };
  const button = (name, action, kind) => make("button", { class: kind || "", onclick: action }, word(name));
  let timer = 0;
  const show = (state) => {
    if (!state || !dialog.open || !body.isConnected) return;
    const enough = state.done >= state.least;
    const parts = [make("p", {}, word("trainDone", state.done, state.heldOut)), enough ? null : make("p", { class: "hint" }, word("trainMore", state.least - state.done)), state.isKnown ? null : make("p", { class: "hint" }, word("trainUnknown"))];
    const steps = /step ([\d,]+)\/([\d,]+)/.exec(state.said)?.slice(1).map((each) => Number(each.replaceAll(",", "")));
    if (state.isRunning) parts.push(make("progress", { "aria-label": word("training"), ...(steps ? { value: steps[0], max: steps[1] } : {}) }), button("stop", () => act("stop")));
    else if (enough) parts.push(button("trainStart", () => act("start"), state.scores ? "" : "strong"));
    if (state.isRunning || state.hasFailed) parts.push(make("p", { class: state.hasFailed ? "alarm" : "hint", role: "status" }, state.said || word("training")));
    if (state.scores) parts.push(...scoreParts(state.scores), state.isTaken ? make("p", { role: "status" }, word("taken")) : button("take", async () => { await act("use"); await app.suggestAgain(); }, "strong"));
    const focused = body.contains(document.activeElement) ? document.activeElement.textContent : null;
    body.replaceChildren(...parts.filter(Boolean));
    const buttons = [...body.querySelectorAll("button")];
    if (focused !== null) (buttons.find((each) => each.textContent === focused) || buttons[0] || dialog.querySelector(".shut")).focus();
    clearTimeout(timer);
    if (state.isRunning) timer = setTimeout(() => act(""), 1500);
  };
  await act("");
}

function scoreParts({ before, after, difference, names, unit }) {
  const shown = (value) => value.toLocaleString(currentLanguage(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const cells = (row) => [shown(row[0]), row[1] === null ? "–" : `${shown(row[1])} – ${shown(row[2])}`];
  const rows = [["before", before], ["after", after], ["difference", difference]].filter(([, row]) => row);
  return [make("p", { class: "hint" }, word("scoredOn", names, unit)), table(["", "F1", "95 %"], rows.map(([name, row]) => [word(name), ...cells(row)]))];
}

export function savedDialog(report, titleOf) {
  const part = (title, rows) => (rows.length ? [make("h3", {}, title), make("ul", {}, rows.map((row) => make("li", {}, row)))] : []);
  const written = [report.written.length ? word("saved", report.written.length) : "", report.same ? word("savedSame", report.same) : "", report.reference && word("linksAs", report.reference)].filter(Boolean).join(" · ");
  openDialog(word(written ? "savedReport" : "refused"), written && make("p", {}, written), part(word("refused"), report.refused.map((one) => one.why)), part(word("skipped"), report.skipped.map((one) => `${one.form} (${titleOf(one.n)}): ${one.why}`)));
}
