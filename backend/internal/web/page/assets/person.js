// Opens and closes the parts of the page without loading all of it again, and saves their
// forms in place. Without this script the links and forms lead to the same pages.
async function show(answer, part) {
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = loaded.getElementById(part.id);
  if (!fresh) return false;
  part.replaceWith(fresh);
  const first = fresh.querySelector("[aria-invalid], form input:not([type=hidden]), form textarea, form select") ?? fresh.querySelector("a");
  first?.focus();
  return true;
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-part]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok || answer.redirected || !(await show(answer, link.closest(".part")))) {
    location.assign(link.href);
    return;
  }
  history.replaceState(null, "", link.href);
});
