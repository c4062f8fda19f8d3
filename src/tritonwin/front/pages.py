"""The pages: what the desk has come to, as HTML in the look of the reports, and the forms.

Every action is a form that leads to the page of its task, so that a reload repeats nothing and all
of it works without JavaScript. The script only takes over what is new (`data-live`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from io import BytesIO

from tritonwin import __version__
from tritonwin.facts import snapshot
from tritonwin.facts.redaction.identity import Identity
from tritonwin.front.desk import BusyError, Desk, Kind, Task
from tritonwin.front.server import Response
from tritonwin.journal.records import Header
from tritonwin.output import html
from tritonwin.output.blocks import Tone
from tritonwin.output.outcomes import STATES, of_damaged
from tritonwin.output.view import of_explanation
from tritonwin.problems.explain import explain_stream
from tritonwin.system.host import Host

_LINKS = {
    "": "What is wrong",
    "explain": "Explain a log",
    "install": "Install",
    "changes": "Past changes",
    "snapshot": "Snapshot",
}
_STATES: dict[str, tuple[str, Tone]] = {
    "working": ("At work", "notice"),
    "asking": ("Waits for your answer", "warning"),
    "done": ("Ended", "strong"),
    "failed": ("Failed", "bad"),
}
_TITLES: dict[Kind, str] = {
    "examine": "What is wrong",
    "fix": "Repair",
    "verify": "Prove",
    "install": "Install",
    "undo": "Undo",
}
_KNOWN = "triton-windows, flash-attn, sageattention, torch ..."


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Answers to requests, each from an own thread.

    Attributes:
        root: the path of the home page, which holds the secret.
        end: ends the program.
    """

    desk: Desk
    root: str
    end: Callable[[], None]

    def answer(self, path: str, form: Mapping[str, str] | None) -> Response:
        """The page, or what comes of a form."""
        try:
            return self._show(path) if form is None else self._act(path, form)
        except BusyError:
            told = "Another task is at work or waits for an answer. Nothing was started."
            return self._page(told, "warning", self._current(), status=409)

    def _show(self, path: str) -> Response:
        name, _, rest = path.partition("/")
        if name == "task" and rest.isdecimal() and (task := self.desk.tasks.get(int(rest[:9]))):
            return self._task(task)
        pages: dict[str, Callable[[], Response]] = {
            "": self._home,
            "explain": lambda: self._explain(None),
            "install": self._install,
            "changes": self._changes,
            "snapshot": self._snapshot,
            "page.css": lambda: _file("page.css", "text/css", html.own_file("report.css")),
            "page.js": lambda: _file("page.js", "text/javascript"),
        }
        page = pages.get(path)
        return page() if page else self._page("There is no such page.", "bad", status=404)

    def _act(self, path: str, form: Mapping[str, str]) -> Response:
        """The forms. Each starts a task, or answers the question of one."""
        match path:
            case "explain":
                return self._explain(form.get("log", ""))
            case "answer" if self.desk.answer(
                form.get("question", ""), agreed=form.get("answer") == "yes"
            ):
                return self._to(f"task/{self.desk.last.number}" if self.desk.last else "")
            case "answer":
                said = "This question is not open any more. Nothing was changed by this answer."
                return self._page(said, "warning", self._current(), status=409)
            case "end":
                self.end()
                last = b"tritonwin ends; a change that is being made is finished. Close this page."
                return Response(body=last, kind="text/plain")
        kind = next((each for each in _TITLES if each == path), None)
        if kind is None:
            return self._page("There is no such page.", "bad", status=404)
        task = self.desk.start(kind, form.get("given", ""))
        return self._to("" if kind == "examine" else f"task/{task.number}")

    # --- pages

    def _home(self) -> Response:
        view, last = self.desk.view, self.desk.last
        if view is None:
            waiting = last and (last.open or last.kind == "examine")
            return self._task(last if last and waiting else self.desk.start("examine"))
        actions = (
            "" if view.healthy else self._button("fix", "Repair: show the plan", main=True),
            self._button("verify", "Prove it", main=view.healthy),
            self._button("examine", "Examine again"),
        )
        bar = f'<div class="bar">{"".join(actions)}</div>'
        return self._page(
            view.headline,
            view.tone,
            self._current(),
            self._cut_off(),
            bar,
            html.rendered(view.body),
        )

    def _task(self, task: Task) -> Response:
        state, tone = _STATES[task.state]
        said = "".join(f"<div>{html.rendered([block])}</div>" for block in task.said)
        ask = after = ""
        if task.question:
            ask = self._form(
                "answer",
                f'<h2 tabindex="-1">{html.shown(task.question)}</h2>'
                '<button name="answer" value="yes" class="main">Do it</button> '
                '<button name="answer" value="no">No, change nothing</button>',
                question=task.key,
            )
        if not task.open:
            undo = self._button("undo", "Undo it") if task.undoable else ""
            after = f'<div class="bar">{undo}<a href="{self.root}">What is wrong now</a></div>'
            if task.kind == "examine":  # it failed: otherwise what is wrong is shown
                after = self._button("examine", "Examine again")
        body = (self._cut_off() if task.kind == "examine" else "") + (
            f'<p id="state" role="status" data-live="swap"><strong class="{tone}">'
            f"{state}</strong></p>"
            f'<div id="said" role="log" aria-label="What happened" data-live="grow">{said}</div>'
            f'<div id="now" class="faint" data-live="swap">{html.shown(task.now)}</div>'
            f'<div id="ask" data-live="swap">{ask}</div>'
            f'<div id="after" data-live="swap">{after}</div>'
        )
        return self._page(_TITLES[task.kind], "plain", body, wait=task.state == "working")

    def _explain(self, log: str | None) -> Response:
        form = self._form(
            "explain",
            '<label for="log">What the program printed, whole if possible</label>'
            f'<textarea id="log" name="log" rows="12" required>{escape(log or "")}</textarea>'
            '<button class="main">Explain</button>',
        )
        if not (log or "").strip():
            return self._page("Explain a log", "plain", form)
        explanation = explain_stream(BytesIO((log or "").encode("utf-8", "replace")))
        view = of_explanation(explanation, "the text")
        return self._page(view.headline, view.tone, html.rendered(view.body), form)

    def _install(self) -> Response:
        form = self._form(
            "install",
            '<label for="given">Packages, with a blank between</label>'
            '<input id="given" name="given" required autocomplete="off" spellcheck="false">'
            f'<p class="faint">{_KNOWN}</p><button class="main">Choose: show the plan</button>',
        )
        return self._page("Install what fits this Python, torch and GPU", "plain", form)

    def _changes(self) -> Response:
        headers = self.desk.store.journals()[::-1]
        changes = "".join(map(self._change, headers))
        damaged = html.rendered(of_damaged(self.desk.store.unreadable()))
        none = "" if changes or damaged else "<p>tritonwin changed nothing so far.</p>"
        return self._page("Past changes", "plain", self._current(), damaged, changes, none)

    def _change(self, header: Header) -> str:
        undone = header.state == "undone"
        button = "" if undone else self._button("undo", "Undo ...", given=header.id)
        when = header.started[:16].replace("T", " ")
        return (
            f'<section class="absent"><h2>{html.shown(header.title)}</h2>'
            f"<p><strong>{STATES[header.state]}</strong> {html.shown(when)} UTC</p>"
            f'<p class="faint">{html.shown(header.target)}</p>{button}</section>'
        )

    def _snapshot(self) -> Response:
        facts = self.desk.facts
        if facts is None:
            first = "<p>First look what is wrong.</p>"
            return self._page("Snapshot", "plain", self._current(), first)
        text = snapshot.written(facts, Identity.this_machine(Host.this_machine()))
        named = {"Content-Disposition": 'attachment; filename="tritonwin-report.json"'}
        return Response(body=text.encode(), kind="application/json", headers=named)

    # --- parts

    def _current(self) -> str:
        """A note with the task that is at work or asks, unless its answer is on the page."""
        task = self.desk.last
        if task is None or not task.open or (task.kind == "examine" and self.desk.view):
            return ""
        state = _STATES[task.state][0].lower()
        link = f'<a href="{self.root}task/{task.number}">{_TITLES[task.kind]}</a>'
        return f'<p class="note">{link}: {state}.</p>'

    def _cut_off(self) -> str:
        """Changes in the middle, unless one is made here."""
        last = self.desk.last
        if last and last.open and last.kind != "examine":
            return ""
        return "".join(map(self._change, self.desk.store.unfinished()))

    def _button(self, action: str, text: str, *, main: bool = False, **fields: str) -> str:
        kind = ' class="main"' if main else ""
        return self._form(action, f"<button{kind}>{html.shown(text)}</button>", **fields)

    def _form(self, action: str, inside: str, **fields: str) -> str:
        hidden = "".join(
            f'<input type="hidden" name="{name}" value="{escape(value)}">'
            for name, value in fields.items()
        )
        return f'<form method="post" action="{self.root}{action}">{hidden}{inside}</form>'

    def _to(self, path: str) -> Response:
        return Response(status=303, headers={"Location": f"{self.root}{path}"})

    def _page(
        self,
        headline: str,
        tone: Tone,
        *body: str,
        status: int = 200,
        wait: bool = False,
    ) -> Response:
        """A page; `wait`: what it shows is about to change."""
        root = self.root
        links = "".join(f'<a href="{root}{to}">{text}</a>' for to, text in _LINKS.items())
        again = '<noscript><meta http-equiv="refresh" content="2"></noscript>' if wait else ""
        python = f", {html.shown(self.desk.target)}" if self.desk.target else ""
        text = f"""<!doctype html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.shown(headline)} - tritonwin</title>
<link rel="stylesheet" href="{root}page.css">
{again}<script src="{root}page.js" defer></script>
</head>
<body>
<header><nav aria-label="Pages">{links}</nav></header>
<main>
<h1 class="{tone}">{html.shown(headline)}</h1>
{"".join(body)}
</main>
<p id="lost" role="alert" class="note" hidden></p>
<footer class="faint"><span>tritonwin {__version__}{python}</span>
{self._button("end", "End tritonwin")}</footer>
</body>
</html>
"""
        return Response(status=status, body=text.encode("utf-8", "replace"))


def _file(name: str, kind: str, before: str = "") -> Response:
    text = before + files("tritonwin.front").joinpath(name).read_text("utf-8")
    return Response(body=text.encode(), kind=f"{kind}; charset=utf-8")
