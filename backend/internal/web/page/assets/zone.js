// Offers the time zone of the browser, if it is not the one in the form. A form that guesses gets
// it filled in.
"use strict";
(function () {
  const input = document.getElementById("timezone");
  const offer = document.getElementById("browser-zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!input || !zone || zone === input.value) return;
  if (input.form.hasAttribute("data-guess")) input.value = zone;
  if (!offer) return;
  offer.querySelector("bdi").textContent = zone;
  offer.classList.remove("waiting");
  offer.addEventListener("click", () => {
    input.value = zone;
    offer.classList.add("waiting");
    input.focus();
  });
})();
