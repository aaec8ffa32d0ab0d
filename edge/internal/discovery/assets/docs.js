// Shows what the search finds while the visitor types, in place of the page. Without this script
// the button does the same.
const form = document.querySelector("[role=search]");
const field = form.elements.q;
const main = document.getElementById("main");
const status = document.getElementById("found");
const own = [...main.childNodes]; // the page without a search, or the results that it came with
const ownQuery = field.value.trim();
let shown = ownQuery;
let waiting, latest;

const show = async () => {
  const query = field.value.trim();
  if (query === shown) return;
  shown = query;
  latest?.abort();
  if (query === ownQuery || (!query && !new URLSearchParams(location.search).has("q"))) {
    main.replaceChildren(...own);
    status.textContent = "";
    return;
  }
  latest = new AbortController();
  const address = new URL(form.action);
  address.searchParams.set("q", query);
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "omit", signal: latest.signal });
    if (!answer.ok) return;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (query !== shown) return;
    main.replaceChildren(...found.childNodes);
    status.textContent = main.querySelector("p")?.textContent ?? "";
  } catch {
    if (query === shown) shown = null; // so that the next keystroke tries again
  }
};

field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 120);
});
// A browser that comes back to the page may have kept what was typed.
window.addEventListener("pageshow", show);
