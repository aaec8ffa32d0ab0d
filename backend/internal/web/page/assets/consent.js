// Allow works half a second after the page came into view, so that the second click of a double
// click that began on another page cannot press it. Until then it looks disabled, and a click on it
// is answered. Without this script it works at once.
const allow = document.querySelector("[data-settle]");
const early = document.getElementById("early");
let waiting, clicked = false;

function ready() {
  allow.removeAttribute("aria-disabled");
  if (clicked) early.textContent = t("Your click came too early to count. You can press Allow now.");
}

function settle() {
  clearTimeout(waiting);
  allow.setAttribute("aria-disabled", "true");
  if (document.visibilityState === "visible") waiting = setTimeout(ready, 500);
}

allow.form.addEventListener("submit", (event) => {
  if (event.submitter !== allow || !allow.hasAttribute("aria-disabled")) return;
  event.preventDefault();
  clicked = true;
  early.textContent = t("One moment: Allow works half a second after the page appears.");
});
document.addEventListener("visibilitychange", settle);
window.addEventListener("focus", settle);
window.addEventListener("pageshow", settle);
settle();
