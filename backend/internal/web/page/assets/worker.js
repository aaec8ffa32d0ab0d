// The service worker of the installed app. It keeps the files that pages load, such as the
// stylesheet, and nothing else: no page and no data. So there is nothing to delete when a member
// signs out.
const release = {}; // the server puts the version and the addresses of its files here
const prefix = "kith-";
const cacheName = prefix + release.version;

async function keepFiles() {
  const cache = await caches.open(cacheName);
  await Promise.all(release.files.map(async (address) => {
    const answer = await fetch(address, { credentials: "omit" });
    // While a new version is rolled out, a server of another version may answer. It does not say
    // immutable, and the browser tries again later.
    if (!answer.ok || !answer.headers.get("Cache-Control")?.includes("immutable")) throw new Error(`${address} is not of this version`);
    await cache.put(address, answer);
  }));
}

async function dropOthers() {
  const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request, address) {
  const kept = await caches.match(address, { cacheName, ignoreVary: true }).catch(() => undefined);
  return kept ?? fetch(request);
}

self.addEventListener("install", (event) => {
  // Where the browser can, it loads pages without starting the worker.
  event.addRoutes?.({ condition: { requestMode: "navigate" }, source: "network" }).catch(() => {});
  self.skipWaiting();
  event.waitUntil(keepFiles());
});

self.addEventListener("activate", (event) => event.waitUntil(dropOthers()));

self.addEventListener("fetch", (event) => {
  const { origin, pathname, search } = new URL(event.request.url);
  const address = pathname + search;
  if (event.request.method !== "GET" || origin !== location.origin || !release.files.includes(address)) return;
  event.respondWith(answer(event.request, address));
});
