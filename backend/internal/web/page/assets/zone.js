// Offers the time zone of the browser, if it is not the one in the form.
"use strict";
(function () {
  const input = document.getElementById("timezone");
  const offer = document.getElementById("browser-zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!input || !offer || !zone || zone === input.value) return;
  offer.querySelector("bdi").textContent = zone;
  offer.classList.remove("waiting");
  offer.addEventListener("click", () => {
    input.value = zone;
    offer.classList.add("waiting");
    input.focus();
  });
})();
