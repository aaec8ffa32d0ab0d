// Sends the requests of the landing page and shows both sides as they are.
// Without this script the page has them as command lines and links.
(() => {
  "use strict";

  const valueMark = "{}";

  // requestOf returns what the form asks for, with the visitor's value in it.
  const requestOf = (form) => {
    const data = form.dataset;
    const value = form.elements.value.value.trim();
    const request = {
      verb: data.tryVerb,
      path: data.tryPattern.replace(valueMark, () => encodeURIComponent(value)),
      headers: data.tryAccept ? { Accept: data.tryAccept } : {},
      body: "",
    };
    if (data.tryJson) {
      const message = JSON.parse(data.tryJson);
      message.params.arguments[data.tryArgument] = value;
      request.headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(message);
    }
    return request;
  };

  const lines = (headers) => Array.from(headers, ([name, value]) => `${name}: ${value}`);

  // indented returns JSON with line breaks, and anything else as it is.
  const indented = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  };

  // quoted returns text as one word of a POSIX shell.
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  // curlOf returns a request as a command, as the server writes it.
  const curlOf = (request) => {
    const words = [`curl -sS ${quoted(location.origin + request.path)}`];
    for (const [name, value] of Object.entries(request.headers)) words.push(`-H ${quoted(`${name}: ${value}`)}`);
    if (request.body) words.push(`-d ${quoted(request.body)}`);
    return words.join(" \\\n  ");
  };

  // failed reports whether an answer is an error: by its status, or by what a tool says.
  const failed = (answer) => {
    if (!answer || !answer.ok) return true;
    try {
      const message = JSON.parse(answer.body);
      return Boolean(message.error || message.result?.isError);
    } catch {
      return false;
    }
  };

  // send makes the request and returns its answer as a message, or null.
  const send = async (request) => {
    try {
      const answer = await fetch(request.path, {
        method: request.verb,
        headers: request.headers,
        body: request.body || undefined,
        credentials: "omit",
        cache: "no-store",
      });
      const status = `${answer.status} ${answer.statusText}`.trim();
      return { ok: answer.ok, status, first: `HTTP/1.1 ${status}`, headers: lines(answer.headers), body: await answer.text() };
    } catch {
      return null;
    }
  };

  const start = (form) => {
    const panel = document.getElementById(form.dataset.tryAnswer);
    const status = panel.querySelector(".status");
    const indent = panel.querySelector("[type=checkbox]");
    const curl = panel.parentElement.querySelector(".curl code");
    const link = panel.parentElement.querySelector("[data-try-link]");
    const nothing = { first: "", headers: [], body: "" };
    let busy = false;
    let sent = nothing;
    let got = nothing;

    const render = () => {
      const shown = (body) => (body && indent.checked ? indented(body) : body);
      panel.querySelector(".got").hidden = !got.body;
      panel.querySelector(".got code").textContent = shown(got.body);
      panel.querySelector(".headers code").textContent = [got.first, ...got.headers].join("\n");
      panel.querySelector(".sent code").textContent = [sent.first, ...sent.headers].join("\n") + (sent.body && "\n\n" + shown(sent.body));
    };

    // follow shows the request with what is typed.
    const follow = () => {
      const request = requestOf(form);
      curl.textContent = curlOf(request);
      if (link) link.href = request.path;
    };

    const run = async () => {
      const request = requestOf(form);
      sent = {
        first: `${request.verb} ${request.path} HTTP/1.1`,
        headers: [`Host: ${location.host}`, ...lines(Object.entries(request.headers))],
        body: request.body,
      };
      got = nothing;
      panel.hidden = false;
      status.textContent = "Waiting for the answer.";
      status.classList.remove("failed");
      render();
      const begun = performance.now();
      const answer = await send(request);
      const took = Math.round(performance.now() - begun);
      got = answer || nothing;
      const wrong = failed(answer);
      status.classList.toggle("failed", wrong);
      status.textContent = answer
        ? `${wrong ? "Error: answered" : "Answered"} with ${answer.status} after ${took} milliseconds.`
        : "There was no answer. Check your connection and try again.";
      render();
    };

    form.hidden = false;
    indent.addEventListener("change", render);
    form.addEventListener("input", follow);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (busy) {
        return;
      }
      busy = true;
      await run();
      busy = false;
    });
  };

  document.querySelectorAll("form[data-try-verb]").forEach(start);
})();
