// Keeps longer texts in this tab until they are saved: what was typed into a text area is back after a
// reload, after signing in again, and after a page that failed. Signing out forgets it. The browser asks
// before a page with unsaved text is left.
const store = "kith-draft ";
const mine = `${store}${document.body.dataset.drafts} `;
let leaving = false;

const pathOf = (form) => new URL(form.action).pathname;
const areasIn = (node) => [...node.querySelectorAll("form[method=post] textarea")];
const keys = () => Object.keys(sessionStorage).filter((key) => key.startsWith(store));
const read = (key) => JSON.parse(sessionStorage.getItem(key) ?? "null");
const write = (key, draft) => sessionStorage.setItem(key, JSON.stringify(draft));
const plain = (text) => String(text).replaceAll("\r\n", "\n");

// Forms of one address differ by what they send unseen, such as the id of a note.
function keyOf({ form, name }) {
  const unseen = [...form.querySelectorAll("input[type=hidden]")].filter((input) => !/^(form_token|seen|expected_version)/.test(input.name));
  return mine + [pathOf(form), ...unseen.map((input) => `${input.name}=${input.value}`), name].join(" ");
}

function giveUp(area) {
  area.value = area.defaultValue;
  sessionStorage.removeItem(keyOf(area));
}

// What was sent is saved if the next page says what was done. Otherwise it stays: the network failed, the
// session has ended, or something was wrong.
function settle() {
  const [{ type }] = performance.getEntriesByType("navigation");
  const saved = type === "navigate" && new URLSearchParams(location.search).has("done");
  for (const key of keys()) {
    const draft = read(key);
    if (draft.sent && saved) sessionStorage.removeItem(key);
    else write(key, { ...draft, sent: false });
  }
}

function tell(area, act, run, ...texts) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "text", textContent: act });
  const told = Object.assign(document.createElement("p"), { className: "small" });
  told.setAttribute("role", "status");
  told.append(...texts, " ", button);
  button.addEventListener("click", () => {
    run();
    told.remove();
    area.focus();
  });
  area.after(told);
}

function restore(area) {
  const draft = read(keyOf(area));
  if (!draft || plain(draft.text) === area.value) return;
  for (let node = area.closest("details"); node; node = node.parentElement.closest("details")) node.open = true;
  const put = () => { area.value = draft.text; };
  if (draft.base === area.defaultValue) {
    put();
    tell(area, t("Discard it"), () => giveUp(area), t("What you typed earlier is back. It is not saved yet."));
    return;
  }
  // The text was changed elsewhere since: both are shown.
  const typed = Object.assign(document.createElement("q"), { className: "text", textContent: draft.text });
  tell(area, t("Use what I typed"), put, `${t("This was changed after you typed")} `, typed);
}

document.addEventListener("input", ({ target }) => {
  if (!target.matches("form[method=post] textarea")) return;
  const key = keyOf(target);
  if (target.value === target.defaultValue && !read(key)) return;
  write(key, { path: pathOf(target.form), name: target.name, base: read(key)?.base ?? target.defaultValue, text: target.value });
});

document.addEventListener("submit", ({ target }) => {
  leaving = true;
  if (pathOf(target).endsWith("/sign-out")) localStorage.removeItem("kith-offline"); // keeps no pages from now on (offline.js)
  const sent = new FormData(target);
  for (const key of keys()) {
    const draft = read(key);
    if (pathOf(target) === "/sign-out") sessionStorage.removeItem(key);
    else if (draft.path === pathOf(target) && sent.getAll(draft.name).some((value) => plain(value) === plain(draft.text))) write(key, { ...draft, sent: true });
  }
}, true);

// A link among the buttons of a form, such as Cancel, gives its texts up.
document.addEventListener("click", ({ target }) => {
  const form = target.closest(".buttons a[href]")?.closest("form[method=post]");
  if (form) [...form.querySelectorAll("textarea")].forEach(giveUp);
}, true);

addEventListener("pageshow", () => { leaving = false; });
addEventListener("beforeunload", (event) => {
  if (!leaving && areasIn(document).some((area) => area.value !== area.defaultValue)) event.preventDefault();
});

settle();
areasIn(document).forEach(restore);
// Forms that another script puts into the page.
new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.addedNodes])) areasIn(document).filter((area) => node.contains(area)).forEach(restore);
}).observe(document.getElementById("main"), { childList: true, subtree: true });
