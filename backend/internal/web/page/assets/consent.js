// Allow works half a second after the page came into view, so that the second click of a double
// click that began on another page cannot press it. Without this script it works at once.
const allow = document.querySelector("[data-settle]");
let waiting;

function settle() {
  clearTimeout(waiting);
  allow.setAttribute("aria-disabled", "true");
  if (document.visibilityState === "visible") waiting = setTimeout(() => allow.removeAttribute("aria-disabled"), 500);
}

allow.form.addEventListener("submit", (event) => {
  if (event.submitter === allow && allow.hasAttribute("aria-disabled")) event.preventDefault();
});
document.addEventListener("visibilitychange", settle);
window.addEventListener("focus", settle);
window.addEventListener("pageshow", settle);
settle();
