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

  // show writes a message into its place: the first line, the headers, the body.
  const show = (place, message, indent) => {
    const body = message.body && (indent ? indented(message.body) : message.body);
    place.textContent = [message.first, ...message.headers].join("\n") + (body && "\n\n" + body);
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
      return { status, first: `HTTP/1.1 ${status}`, headers: lines(answer.headers), body: await answer.text() };
    } catch {
      return null;
    }
  };

  const start = (form) => {
    const panel = document.getElementById(form.dataset.tryAnswer);
    const status = panel.querySelector(".status");
    const indent = panel.querySelector("[type=checkbox]");
    const nothing = { first: "", headers: [], body: "" };
    let busy = false;
    let sent = nothing;
    let got = nothing;

    const render = () => {
      show(panel.querySelector(".sent code"), sent, indent.checked);
      show(panel.querySelector(".got code"), got, indent.checked);
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
      render();
      const begun = performance.now();
      const answer = await send(request);
      const took = Math.round(performance.now() - begun);
      got = answer || nothing;
      status.textContent = answer
        ? `Answered with ${answer.status} after ${took} milliseconds.`
        : "There was no answer. Check your connection and try again.";
      render();
    };

    form.hidden = false;
    indent.addEventListener("change", render);
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
