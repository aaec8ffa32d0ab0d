// Suggests people while the member types their names into a field. Without this script the names are typed in full.
let waiting, latest;

async function suggest(field) {
  const typed = latest = field.value;
  const [, before = "", name] = typed.match(/^(.*, *)?(.*)$/);
  const answer = await fetch(`${document.querySelector(".find").action}?q=${encodeURIComponent(name)}`);
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (typed !== latest) return; // an answer to older words
  field.list.replaceChildren(...[...loaded.querySelectorAll("#results a.name")].slice(0, 7).map((link, i, all) => {
    // Of several people with one name, the address of the page names one.
    const several = all.some((other) => other !== link && other.text === link.text);
    return new Option(several ? link.parentNode.textContent : link.nextElementSibling?.textContent, before + (several ? link.href : link.text));
  }));
}

document.addEventListener("input", ({ target }) => {
  if (!("people" in target.dataset)) return;
  clearTimeout(waiting);
  waiting = setTimeout(suggest, 120, target);
});
