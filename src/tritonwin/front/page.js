// Shows what is new while a task runs, and says when the program has ended. Pages work without it.
"use strict";
{
  const root = document.documentElement.dataset.root;
  const lost = document.getElementById("lost");
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const seen = new Map(parts().map(part => [part.id, part.innerHTML]));
  let busy = false, again = false;

  function addCopyButtons() {
    for (const block of document.querySelectorAll("pre.command:not([data-copy])")) {
      block.dataset.copy = "";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy the command " + block.textContent);
      button.onclick = () => navigator.clipboard.writeText(block.textContent)
        .then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it"; });
      block.after(button);
    }
  }

  function takeOver(part, fresh) {
    if (seen.get(part.id) === fresh.innerHTML) return;
    const count = part.children.length;
    seen.set(part.id, fresh.innerHTML);
    if (part.dataset.live === "grow") {
      part.append(...[...fresh.children].slice(count));
    } else {
      part.replaceChildren(...fresh.childNodes);
      toQuestion(part);
    }
  }

  // whoever reads with a keyboard or a screen reader comes to the question
  function toQuestion(part) {
    part.querySelector("[tabindex]")?.focus();
  }

  async function renew() {
    if (!parts().length) return;
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (parts().some(part => !page.getElementById(part.id))) {
          location.reload();  // what was waited for is there
          return;
        }
        for (const part of parts()) takeOver(part, page.getElementById(part.id));
        addCopyButtons();
      } catch { /* the events tell */ }
    } while (again);
    busy = false;
  }

  function say(text) {
    lost.textContent = text;
    lost.hidden = !text;
  }

  addCopyButtons();
  toQuestion(document);
  const events = new EventSource(root + "events");
  events.onmessage = () => { say(""); renew(); };
  events.addEventListener("end", () => {
    events.close();
    say("tritonwin has ended. To go on, start it again.");
  });
  events.onerror = () => say(
    "tritonwin does not answer. If its window is closed, start it again: it then shows every " +
    "change, also one that was cut off, and can undo it.");
}
