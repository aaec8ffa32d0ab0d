// The service worker of the installed app. It keeps the files that pages load, such as the stylesheet, and
// a page that is shown without a network. If the member allows it on this device, it also keeps Today, the
// list of people and the people opened last. It deletes these as soon as the sign-in page is shown.
const release = {}; // the server puts the version and the addresses of its files here
const prefix = "kith-";
const cacheName = prefix + release.version;
const pagesPrefix = "kith-pages-"; // and the id of the member whose pages are kept
const offlinePage = "/offline";
const signInPage = "/sign-in";
const lists = ["/", "/people"];
const mostPeople = 50;

const isPerson = (path) => /^\/people\/con_[0-9a-z]{1,10}$/.test(path);
const isFile = (path) => release.files.some((address) => address.startsWith(`${path}?`));

async function keepFiles() {
  const cache = await caches.open(cacheName);
  await cache.add(new Request(offlinePage, { credentials: "omit" }));
  await Promise.all(release.files.map(async (address) => {
    const answer = await fetch(address, { credentials: "omit" });
    // While a new version is rolled out, a server of another version may answer. It does not say
    // immutable, and the browser tries again later.
    if (!answer.ok || !answer.headers.get("Cache-Control")?.includes("immutable")) throw new Error(`${address} is not of this version`);
    await cache.put(address, answer);
  }));
}

async function dropOthers() {
  const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== cacheName && !name.startsWith(pagesPrefix));
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
}

/** Answers with the file of this version. One of another version, which a kept page loads, has it instead of its own without a network. */
async function file(request, path, search) {
  const kept = await caches.match(path + search, { cacheName, ignoreVary: true }).catch(() => undefined);
  return kept ?? fetch(request).catch(async (fault) => {
    const other = await caches.match(path, { cacheName, ignoreSearch: true, ignoreVary: true });
    if (!other) throw fault;
    return other;
  });
}

/** The name of the cache of pages; undefined if the member keeps none on this device. */
const pagesName = async () => (await caches.keys()).find((name) => name.startsWith(pagesPrefix));

/** Keeps what was answered to a navigation, or deletes what is kept. Returns the text of a page that is kept. */
async function keep(path, answer) {
  const name = await pagesName();
  if (!name) return undefined;
  if (path === signInPage && answer.ok) await caches.delete(name);
  if (!lists.includes(path) && !isPerson(path)) return undefined;
  const pages = await caches.open(name);
  if (answer.status === 404) await pages.delete(path);
  if (!answer.ok || answer.redirected) return undefined;
  const text = await answer.text();
  if (!text.includes(`data-drafts="${name.slice(pagesPrefix.length)}"`)) return undefined; // a page of nobody, or of another member
  const script = release.files.find((address) => address.startsWith("/assets/offline.js?"));
  const marked = text.replace("</head>", `<script type="module" src="${script}"></script>\n</head>`).replace("<body ", `<body data-kept="${new Date().toISOString()}" `);
  await pages.delete(path); // so that it is the newest
  await pages.put(path, new Response(marked, { headers: answer.headers }));
  const people = (await pages.keys()).map((request) => new URL(request.url).pathname).filter(isPerson);
  await Promise.all(people.slice(0, -mostPeople).map((person) => pages.delete(person)));
  return text;
}

/** Begins to keep pages for a member: Today, the list, and the people on them. */
async function begin(member) {
  await forget();
  await caches.open(pagesPrefix + member);
  const texts = [];
  for (const path of lists) texts.push(await load(path) ?? "");
  const people = new Set([...texts.join("").matchAll(/href="(\/people\/[^"?#]*)"/g)].map(([, path]) => path).filter(isPerson));
  for (const path of [...people].slice(0, mostPeople).reverse()) await load(path);
}

async function forget() {
  const name = await pagesName();
  if (name) await caches.delete(name);
}

/** Loads a page, and keeps it. */
const load = async (path) => keep(path, await fetch(path, { credentials: "same-origin" }));

async function navigate(event, path, search) {
  try {
    const answer = await event.preloadResponse ?? await fetch(event.request);
    if (search === "" || path === signInPage) event.waitUntil(keep(path, answer.clone()));
    // After a form was sent, the page also says what was done: it is loaded once more without that.
    else if (answer.ok && isPerson(path) && await pagesName()) event.waitUntil(load(path).catch(() => {}));
    return answer;
  } catch {
    const name = await pagesName();
    const kept = name && await caches.match(path, { cacheName: name, ignoreVary: true });
    return kept || await caches.match(offlinePage, { cacheName, ignoreVary: true }) || Response.error();
  }
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(keepFiles());
});

self.addEventListener("activate", (event) => event.waitUntil(dropOthers()));

// The page of the settings tells what the member wants, and waits for the answer.
self.addEventListener("message", (event) => {
  const done = (event.data.keep ? begin(event.data.keep) : forget()).then(() => true, () => false);
  event.waitUntil(done.then((well) => event.ports[0]?.postMessage(well)));
});

self.addEventListener("fetch", (event) => {
  const { origin, pathname, search } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin) return;
  if (isFile(pathname)) event.respondWith(file(event.request, pathname, search));
  // Consent leads to other sites and programs, and is no page to keep.
  else if (event.request.mode === "navigate" && !pathname.startsWith("/oauth/")) event.respondWith(navigate(event, pathname, search));
});
