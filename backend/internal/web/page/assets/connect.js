// Copies texts, and shows which agents are connected without loading the page again. Without this
// script, texts can be selected, and a link looks again.
const every = 2000;
const patience = 15 * 60 * 1000;
const began = Date.now();

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.classList.remove("waiting");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.closest(".copy").querySelector("code").textContent);
    button.textContent = t("Copied");
    setTimeout(() => { button.textContent = t("Copy"); }, every);
  });
}

async function look() {
  const shown = document.querySelector("#agents [role=status]");
  if (!shown || Date.now() - began > patience) return;
  if (!document.hidden) {
    const address = new URL(location.href);
    address.searchParams.set("part", "agents");
    try {
      const answer = await fetch(address, { credentials: "same-origin", redirect: "error" });
      const fresh = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#agents [role=status]");
      if (fresh && fresh.innerHTML !== shown.innerHTML) shown.replaceChildren(...fresh.childNodes);
    } catch {
      // The next request may reach the server again.
    }
  }
  setTimeout(look, every);
}

setTimeout(look, every);
