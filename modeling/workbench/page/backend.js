// The requests of the page to the program that serves it.

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refusal(0, "");
  }
  const text = await answer.text();
  let made;
  try {
    made = JSON.parse(text);
  } catch {
    throw new Refusal(answer.status, text.slice(0, 300));
  }
  if (!answer.ok) throw new Refusal(answer.status, made.detail || String(answer.status));
  return made;
}

export function connect() {
  const words = (value) => encodeURIComponent(value);
  return {
    isStill: false,
    letters: (said = "") => ask(said ? `api/letters?said=${words(said)}` : "api/letters"),
    letter: (n) => ask(`api/letters/${n}`),
    markup: (n, d, b) => ask(`api/letters/${n}/${d}/${b}/markup`),
    occurrences: (form) => ask(`api/occurrences?form=${words(form)}`),
    search: (query) => ask(`api/search?words=${words(query)}`),
    entries: (query, form, label, source) => ask(`api/entries?words=${words(query)}&form=${words(form)}&label=${words(label)}&source=${source}`),
    overview: () => ask("api/overview"),
    unlinked: () => ask("api/unlinked"),
    decide: (list) => ask("api/decide", list),
    entry: (body) => ask("api/entry", body),
    undo: () => ask("api/undo", null),
    redo: () => ask("api/redo", null),
    save: () => ask("api/save", null),
    training: (what = "") => (what ? ask(`api/training/${what}`, null) : ask("api/training")),
  };
}
