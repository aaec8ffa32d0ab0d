// Signs in and confirms with passkeys, and adds them: it asks the browser, fills in the form and sends it.
// Without this script, or in a browser without passkeys, no button for them is shown.
const passkeys = window.PublicKeyCredential;
const works = passkeys?.parseRequestOptionsFromJSON && passkeys.parseCreationOptionsFromJSON;
const refresh = 8 * 60 * 1000; // a challenge works for ten minutes
let waiting;

async function optionsOf(place, signal) {
  const token = place.closest("form").elements.form_token.value;
  const answer = await fetch(place.dataset.passkey, { method: "POST", body: new URLSearchParams({ form_token: token }), redirect: "error", signal });
  if (!answer.ok) throw new Error(answer.status === 429 ? t("Too many attempts. Try again in a few minutes.") : t("Load the page again, and try again."));
  return answer.json();
}

// ask returns the answer of the person's authenticator. Only one question is open at a time: the last.
async function ask(place, mediation) {
  const isNew = "new" in place.dataset;
  waiting?.abort();
  const { signal } = waiting = new AbortController();
  const options = await optionsOf(place, signal);
  signal.throwIfAborted();
  return isNew
    ? navigator.credentials.create({ publicKey: passkeys.parseCreationOptionsFromJSON(options), signal })
    : navigator.credentials.get({ publicKey: passkeys.parseRequestOptionsFromJSON(options), mediation, signal });
}

function send(place, answer) {
  place.querySelector("input").value = JSON.stringify(answer);
  place.closest("form").submit();
}

function words(error) {
  switch (error.name) {
    case "NotAllowedError": return t("Cancelled, or it took too long. Try again, or go on another way.");
    case "InvalidStateError": return t("This device has a passkey for this account already.");
    case "SecurityError": return t("Passkeys work only at the address of this service, over https.");
    case "Error": return error.message;
    default: return t("It did not work. Try again, or go on another way.");
  }
}

async function pressed(place) {
  const message = place.querySelector(".error");
  const button = place.querySelector("button");
  if (!place.closest("form").reportValidity()) return;
  message.textContent = "";
  button.setAttribute("aria-disabled", "true");
  try {
    send(place, await ask(place));
  } catch (error) {
    message.textContent = words(error);
    if ("conditional" in place.dataset) offer(place);
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

// offer lets the browser offer passkeys where the username is typed, until the page is left.
async function offer(place) {
  if (!(await passkeys.isConditionalMediationAvailable?.())) return;
  const again = setTimeout(() => offer(place), refresh);
  try {
    send(place, await ask(place, "conditional"));
  } catch {
    clearTimeout(again); // the button was pressed, or it does not work here
  }
}

for (const place of works ? document.querySelectorAll("[data-passkey]") : []) {
  place.classList.remove("waiting");
  place.closest("form").classList.remove("waiting");
  place.querySelector("button").addEventListener("click", () => {
    if (!place.querySelector("[aria-disabled]")) pressed(place);
  });
  if ("conditional" in place.dataset) offer(place);
}
