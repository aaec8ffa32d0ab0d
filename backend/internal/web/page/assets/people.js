// Searches while the member types: it loads the page for the words and replaces the
// results. Without this script the form does the same.
const form = document.querySelector("form[data-live]");
const results = document.getElementById("results");
const filters = form.querySelector("details.filters");
const found = document.getElementById("found");
let waiting, latest = 0;

async function search() {
  const number = ++latest;
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) {
    if (value) address.searchParams.append(name, value);
  }
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) {
    form.submit(); // signed out, or a mistake to show
    return;
  }
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== latest) return; // an answer to older words
  results.replaceChildren(...loaded.getElementById("results").childNodes);
  history.replaceState(null, "", address);
  found.textContent = filters.open ? results.querySelector("[data-count]")?.textContent ?? "" : "";
}

/** Closes the filters, which may fill the screen, and brings the results into sight. */
async function show() {
  const inside = filters.contains(document.activeElement);
  await search();
  filters.open = false;
  found.textContent = "";
  if (inside) results.focus({ preventScroll: true });
  if (results.getBoundingClientRect().top > innerHeight / 2) results.scrollIntoView();
}

// Choosing everyone who matches ticks the page too, and choosing one by one ends it. With
// shift, a click ticks the people in between.
let last;
results.addEventListener("change", ({ target }) => {
  const everyone = results.querySelector("[data-everyone]");
  if (target === everyone) {
    for (const box of results.querySelectorAll("[data-choose]")) box.checked = everyone.checked;
  } else if (target.matches("[data-choose]") && everyone) {
    everyone.checked = false;
  }
});
results.addEventListener("click", (event) => {
  if (!event.target.matches("[data-choose]")) return;
  const boxes = [...results.querySelectorAll("[data-choose]")];
  const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)].sort((a, b) => a - b);
  if (event.shiftKey && from >= 0) for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
  last = event.target;
});

form.elements.q.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 120);
});
form.addEventListener("change", (event) => {
  if (event.target !== form.elements.q) search();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  show();
});
