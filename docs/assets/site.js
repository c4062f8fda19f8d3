// Pages work without it: it adds a filter to the table of problems and cleans pasted errors.

// The search takes ":" and "^" for operators and looks for every word's beginning, so that a pasted
// "RuntimeError: ..." would find nothing or everything. It is told whole words.
const SEPARATOR = /[\s\-.,:;()\[\]{}<>"'`=/\\|^~*+]+/;

function asQuery(text) {
  const words = text.split(SEPARATOR).filter((word) => word.length > 1);
  return words.length > 3 ? words.map((word) => `${word}^1`).join(" ") : words.join(" ");
}

function cleanSearch() {
  const field = document.querySelector("input[data-md-component=search-query]");
  const plain = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(field, "value", {
    get: () => asQuery(plain.get.call(field)),
    set: (text) => plain.set.call(field, text),
  });
}

function addFilter() {
  const table = document.querySelector("article table");
  if (!table || !/problems\/(index\.html)?$/.test(location.pathname)) return;
  const label = document.createElement("label");
  const field = document.createElement("input");
  field.type = "search";
  field.className = "problem-filter";
  label.append("Filter: ", field);
  (table.closest(".md-typeset__scrollwrap") || table).before(label);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
// What the theme leaves out for keyboards and screen readers.
function helpReaders() {
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  // Each copy button comes in a landmark of its own, some time after the page; and code that scrolls can
  // be reached with the keyboard only once it was on the screen.
  const repair = () => {
    for (const [number, part] of document.querySelectorAll("nav.md-code__nav").entries()) {
      part.setAttribute("aria-label", `Code block ${number + 1}`);
    }
    for (const code of document.querySelectorAll("pre > code:not([tabindex])")) code.tabIndex = 0;
  };
  const changes = { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] };
  new MutationObserver(repair).observe(document.body, changes);
  repair();
  for (const [number, part] of document.querySelectorAll("nav.md-nav").entries()) {
    const label = part.querySelector(":scope > label")?.textContent.trim() || "Navigation";
    part.removeAttribute("aria-labelledby");
    part.setAttribute("aria-label", `${label} ${number + 1}`);
  }
}

helpReaders();
cleanSearch();
addFilter();
