// Shows the preview of the form while the member types. Without this script the button
// Preview does the same.
const form = document.getElementById("profile");
const shown = document.getElementById("preview-shown");
let waiting, latest = 0;

async function preview() {
  const number = ++latest;
  const fields = new URLSearchParams(new FormData(form));
  fields.set("action", "preview");
  let loaded;
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields, redirect: "error" });
    loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return; // signed out, or offline: the buttons say so
  }
  const next = loaded.getElementById("preview-shown");
  if (number !== latest || !next) return; // an answer to an older form, or a refusal
  document.getElementById("preview-title").textContent = loaded.getElementById("preview-title").textContent;
  if (next.innerHTML !== shown.innerHTML) shown.replaceChildren(...next.childNodes);
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(preview, 400);
}

// Addresses are previewed when they are complete: the preview loads the picture.
form.addEventListener("input", ({ target }) => {
  if (target.type !== "url") soon();
});
form.addEventListener("change", soon);
