// An option is found as it is typed. The search divides words at "-", and takes one at the beginning
// for "without": it gets --min-count as "+min +count", all of which must be there.
const typed = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")
const required = (word) => (word.length > 2 ? `+${word}` : word)
for (const input of document.querySelectorAll("input.md-search__input")) {
  Object.defineProperty(input, "value", {
    ...typed,
    get() {
      return typed.get.call(this).replace(/(^|\s)(-+\w+|\w+-)[\w-]*/g, (option) =>
        option.replace(/^\s*-*/, " ").replace(/[^\s-]+/g, required).replace(/-/g, " "))
    },
  })
}
