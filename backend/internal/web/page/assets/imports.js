// Shows how far an import is without loading the page again: while one is running, the script
// requests the list of imports again and replaces the old one.
"use strict";
(function () {
  const listID = "imports";
  const every = 1500;

  function live() {
    const list = document.getElementById(listID);
    return list !== null && list.dataset.live === "true";
  }

  function replace(text) {
    const next = new DOMParser().parseFromString(text, "text/html").getElementById(listID);
    const list = document.getElementById(listID);
    if (next === null || list === null || next.innerHTML === list.innerHTML) return;
    const focused = list.contains(document.activeElement) ? document.activeElement.id : "";
    list.replaceWith(document.importNode(next, true));
    if (focused !== "") document.getElementById(focused)?.focus();
  }

  async function look() {
    try {
      const answer = await fetch(location.pathname, { credentials: "same-origin", redirect: "error" });
      if (answer.ok) replace(await answer.text());
    } catch {
      // The next request may reach the server again.
    }
    if (live()) setTimeout(look, every);
  }

  function drop() {
    const input = document.getElementById("file");
    const zone = input?.closest("form");
    if (!zone) return;
    zone.addEventListener("dragover", (event) => event.preventDefault());
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length > 0) input.files = event.dataTransfer.files;
    });
  }

  drop();
  if (live()) setTimeout(look, every);
})();
