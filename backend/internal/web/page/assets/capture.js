// Fills in the fields while the member types the line, and offers people who may be the same.
// Fields that the member changed stay as they are. Without this script the buttons do the same.
const line = document.querySelector("[data-capture]");
const form = document.getElementById("capture");
const act = document.getElementById("act");
const found = document.getElementById("found");
const fields = [...form.querySelectorAll(".capture-fields input, .capture-fields textarea")];
const changed = new Set(document.querySelector(".summary") ? fields.map((field) => field.name) : []);
let waiting, latest = 0;

async function fill() {
  const number = ++latest;
  const address = new URL(line.action);
  form.elements.line.value = line.elements.line.value;
  address.searchParams.set("line", line.elements.line.value);
  for (const field of fields) {
    if (changed.has(field.name)) address.searchParams.set(field.name, field.value);
  }
  let loaded;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return; // Save says what is wrong
    loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return;
  }
  if (number !== latest) return; // an answer to an older line
  for (const field of fields) {
    if (!changed.has(field.name)) field.value = loaded.getElementById(field.name).value;
  }
  act.replaceChildren(...loaded.getElementById("act").childNodes);
  form.hidden = act.childElementCount > 0;
  document.querySelector("h1").textContent = loaded.querySelector("h1").textContent;
  const chosen = found.querySelector(":checked")?.id;
  const offered = loaded.getElementById("found");
  if (found.textContent === offered.textContent) return;
  const focused = found.contains(document.activeElement) ? document.activeElement.id : "";
  found.replaceChildren(...offered.childNodes);
  if (chosen && document.getElementById(chosen)) document.getElementById(chosen).checked = true;
  if (focused) (document.getElementById(focused) ?? line.elements.line).focus();
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(fill, 150);
}

line.addEventListener("input", soon);
line.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  await fill();
  (act.querySelector("button") ?? fields[0]).focus();
});
form.addEventListener("input", ({ target }) => {
  if (!fields.includes(target)) return;
  changed.add(target.name);
  soon();
});
