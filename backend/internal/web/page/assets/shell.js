// The command palette and the shortcuts of every page of a member. The links and forms of the page
// do the same.
const find = document.querySelector(".find");
const search = find.elements.q;
const keysKey = "kith-keys";

function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function dialog(label, ...children) {
  const made = element("dialog", { className: "palette", "aria-label": label }, ...children);
  made.addEventListener("click", (event) => {
    if (event.target === made) made.close(); // the backdrop
  });
  document.body.append(made);
  return made;
}

const nameOf = (node) => (node.getAttribute("aria-label") || node.title || node.textContent).replace(/\s+/g, " ").trim();
const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// The palette: people whom the list finds, pages, and what the page can do.
const input = element("input", {
  type: "text", role: "combobox", placeholder: t("Find a person, a page or an action"), maxLength: 256, autocomplete: "off", spellcheck: false,
  "aria-label": t("Find a person, a page or an action"), "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
});
const list = element("ul", { id: "palette-list", role: "listbox", "aria-label": t("Found") });
const palette = dialog(t("Command palette"), input, list);
let people = [], shown = [], chosen = 0, waiting, latest = 0;

function commands() {
  const found = [];
  for (const link of [...document.querySelectorAll(".areas a"), ...(document.getElementById("places")?.content.querySelectorAll("a") ?? [])]) {
    found.push({ text: link.textContent, kind: t("Page"), run: () => location.assign(link.href) });
  }
  for (const act of document.querySelectorAll("[data-shortcut]:not(input, :disabled)")) {
    found.push({ text: nameOf(act), kind: t("Action"), run: () => start(act) });
  }
  found.push({ text: t("Keyboard shortcuts"), kind: t("Action"), run: () => help.showModal() });
  return found;
}

function choose(index) {
  chosen = Math.max(0, Math.min(shown.length - 1, index));
  [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === chosen)));
  if (shown.length > 0) input.setAttribute("aria-activedescendant", `palette-${chosen}`);
  else input.removeAttribute("aria-activedescendant");
  list.children[chosen]?.scrollIntoView({ block: "nearest" });
}

function show() {
  const words = fold(input.value).split(/\s+/);
  const matching = commands().filter((c) => words.every((word) => fold(c.text).includes(word)));
  shown = [...people, ...matching].slice(0, 12);
  list.replaceChildren(...shown.map((c, i) => {
    const row = element("li", { id: `palette-${i}`, role: "option" }, element("bdi", { textContent: c.text }), element("span", { className: "small", textContent: c.kind }));
    row.addEventListener("click", () => run(c));
    return row;
  }));
  choose(0);
}

async function findPeople() {
  const number = ++latest;
  const address = new URL(find.action);
  address.searchParams.set("q", input.value.trim());
  let found = [];
  if (input.value.trim() !== "") {
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) {
        const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
        found = [...loaded.querySelectorAll("#results a.name")].slice(0, 7);
      }
    } catch {
      // The pages can still be chosen.
    }
  }
  if (number !== latest) return; // an answer to older words
  people = found.map((link) => ({ text: link.textContent, kind: t("Person"), run: () => location.assign(link.getAttribute("href")) }));
  show();
}

function run(command) {
  palette.close();
  command.run();
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  input.value = "";
  people = [];
  show();
  palette.showModal();
  input.focus();
}

input.addEventListener("input", () => {
  clearTimeout(waiting);
  show();
  waiting = setTimeout(findPeople, 120);
});
input.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    choose(chosen + step);
  }
  if (event.key === "Enter" && !event.isComposing && shown[chosen]) {
    event.preventDefault();
    run(shown[chosen]);
  }
});

// The help, in which the keys of one letter can be turned off.
const keys = element("input", { type: "checkbox", id: "palette-keys" });
try {
  keys.checked = localStorage.getItem(keysKey) !== "off";
} catch {
  keys.checked = true; // the browser stores nothing
}
keys.addEventListener("change", () => {
  try {
    localStorage.setItem(keysKey, keys.checked ? "on" : "off");
  } catch {
    // Then the choice lasts as long as the page.
  }
});
const meanings = [
  [t("Ctrl K or ⌘ K"), t("Find a person, a page or an action")], ["/", t("Search people")], ["c", t("Add a person")], [t("j and k"), t("Next and previous in a list")],
  ["x", t("Select in a list")], ["e", t("Edit")], ["n", t("Note about a person")], ["l", t("Log a contact")], ["r", t("Remind me")], ["z", t("Undo what was just done")], ["?", t("Show this")],
];
const help = dialog(t("Keyboard shortcuts"),
  element("h2", { textContent: t("Keyboard shortcuts") }),
  element("dl", {}, ...meanings.flatMap(([key, meaning]) => [element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: meaning })])),
  element("p", { className: "radio" }, keys, element("label", { htmlFor: keys.id, textContent: t("Use the keys of one letter") })),
  element("form", { method: "dialog" }, element("button", { textContent: t("Close") })));
const offer = document.getElementById("shortcuts");
offer.addEventListener("click", () => help.showModal());
offer.classList.remove("waiting");

// Lists: j and k focus the first link or button of a row, x ticks its box.
const rows = () => [...document.querySelectorAll("[data-list] > li, .people > li")];
const rowNow = () => rows().findIndex((row) => row.contains(document.activeElement));

function move(step) {
  const all = rows(), now = rowNow();
  const next = all[now < 0 ? 0 : Math.max(0, Math.min(all.length - 1, now + step))];
  next?.querySelector("a, button, summary")?.focus();
}

/** Focuses a field or the first one that a summary opens; follows a link, presses a button. */
function start(target) {
  let field = target;
  if (target.matches("summary")) {
    target.parentElement.open = true;
    field = target.parentElement.querySelector("input:not([type=hidden]), select, textarea");
  }
  if (field.matches("input, textarea, select")) field.focus();
  else target.click();
}

/** Runs the action of a key on this page, and returns false if it has none. */
function press(key) {
  switch (key) {
    case "j": return move(1);
    case "k": return move(-1);
    case "x": return rows()[rowNow()]?.querySelector("input[type=checkbox]")?.click();
    case "?": return help.showModal();
    case "/": return (document.querySelector("main [role=search] input[type=search]") ?? search).focus();
  }
  const target = document.querySelector(`[data-shortcut="${CSS.escape(key)}"]`);
  return target ? start(target) : false;
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    open();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key.length !== 1 || !keys.checked) return;
  if (press(event.key) !== false) event.preventDefault(); // or the field that has the focus now gets the letter
});

// The service worker keeps the files of the installed app. The pages work the same without it.
if (document.querySelector("link[rel=manifest]")) navigator.serviceWorker?.register("/assets/worker.js", { scope: "/" }).then(keepAgain).catch(() => {});

// The pages that a member keeps on this device were deleted when the session ended. They are kept again after signing in
// again, unless the member signed out (drafts.js).
async function keepAgain() {
  const member = document.body.dataset.drafts;
  if (localStorage.getItem("kith-offline") !== member || await caches.has(`kith-pages-${member}`)) return;
  (await navigator.serviceWorker.ready).active.postMessage({ keep: member });
}

// A menu closes when something else is chosen, or by Escape.
document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  const menu = key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
