// The page without a network lists what is kept on this device; on the page of devices the member
// chooses whether pages are kept. Without this script both parts stay hidden. The service worker also adds
// this script to the pages that it keeps.
const prefix = "kith-pages-"; // as in the service worker
const chosen = "kith-offline"; // the member who chose it, in the storage of this browser; the shell reads it

const pagesName = async () => (await caches.keys()).find((name) => name.startsWith(prefix));

/** The pages that are kept, newest first, with their paths and titles. */
async function kept() {
  const name = await pagesName();
  if (!name) return [];
  const cache = await caches.open(name);
  const pages = await Promise.all((await cache.keys()).map(async (request) => {
    const text = await (await cache.match(request)).text();
    return { path: new URL(request.url).pathname, title: new DOMParser().parseFromString(text, "text/html").title.replace(/ · Kith$/, "") };
  }));
  return pages.reverse();
}

async function list(part) {
  const pages = await kept();
  if (pages.length === 0) return;
  part.querySelector("ul").replaceChildren(...pages.map(({ path, title }) => {
    const row = document.createElement("li");
    row.append(Object.assign(document.createElement("a"), { href: path, textContent: title }));
    return row;
  }));
  part.classList.remove("waiting");
}

/** Tells the service worker, and waits until it has done it. */
async function tell(message) {
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  return new Promise((done) => {
    port1.addEventListener("message", ({ data }) => done(data));
    port1.start();
    active.postMessage(message, [port2]);
  });
}

async function choose(part) {
  const [begin, end] = part.querySelectorAll("button");
  const show = async (well = true) => {
    const pages = await kept();
    begin.hidden = pages.length > 0;
    end.hidden = pages.length === 0;
    part.querySelector("[data-count]").textContent = String(pages.length);
    part.querySelector("[data-none]").hidden = pages.length > 0 || !well;
    part.querySelector("[data-some]").hidden = pages.length === 0;
    part.querySelector("[data-failed]").hidden = well;
  };
  const act = (button, message, member) => button.addEventListener("click", async () => {
    button.disabled = true;
    if (member) localStorage.setItem(chosen, member);
    else localStorage.removeItem(chosen);
    await show(await tell(message));
    button.disabled = false;
    (member ? end : begin).focus();
  });
  const member = document.body.dataset.drafts;
  act(begin, { keep: member }, member);
  act(end, { keep: "" }, "");
  await show();
  part.classList.remove("waiting");
}

/** Says when a kept page is from, and that nothing can be changed on it. */
function tellAge(keptAt) {
  const told = document.getElementById("kept");
  const time = told.querySelector("time");
  time.dateTime = keptAt;
  time.textContent = new Date(keptAt).toLocaleString(document.documentElement.lang.replace(/^en$/, "en-GB"), { dateStyle: "medium", timeStyle: "short" });
  told.querySelector("button").addEventListener("click", () => location.reload());
  told.hidden = false;
  for (const button of document.querySelectorAll("form[method=post] button")) button.disabled = true;
}

const { kept: keptAt } = document.body.dataset;
if (keptAt) tellAge(keptAt);
if (self.caches && navigator.serviceWorker) {
  const shown = document.getElementById("kept-pages"), offline = document.getElementById("offline");
  if (shown) await list(shown);
  if (offline) await choose(offline);
}
