"""The local page, served over real sockets for a machine of our own making."""

from __future__ import annotations

import html
import http.client
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fix_world import World

from tritonwin.front.desk import Desk, Setting
from tritonwin.front.pages import Pages
from tritonwin.front.server import LocalServer
from tritonwin.remedies.fix import FixOptions
from tritonwin.remedies.install import InstallOptions

FORM = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)


class Front:
    """A server with its desk; `ended` is what the page's own button sets."""

    def __init__(self, world: World) -> None:
        self.ended = threading.Event()
        setting = Setting(
            collect=lambda host: world.collect(),
            host=lambda: world.host,
            fix=FixOptions(),
            install=InstallOptions(requests=(), offline=True),
        )
        self.desk = Desk(setting, lambda: not self.ended.is_set())
        self.server = LocalServer(lambda request: self.pages.answer(request), self.desk.version)
        self.pages = Pages(desk=self.desk, root=self.server.root, end=self.ended.set)

    @property
    def home(self) -> str:
        return f"{self.server.origin}{self.server.root}"

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str | None
    ) -> Answer:
        """A request as a browser sends it from the page, but for `headers` (None: without)."""
        body = urllib.parse.urlencode(form or {}) if method == "POST" else None
        return self.raw(method, self.server.root + path, body, **headers)

    def raw(
        self, method: str, path: str, body: str | bytes | None = None, **headers: str | None
    ) -> Answer:
        sent: dict[str, str | None] = {"Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            sent |= {"Origin": self.server.origin, "Content-Type": FORM}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        port = self.server.server_address[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent)
            if isinstance(body, str):
                body = body.encode()
            if body is not None and "Content-Length" not in sent:
                sent["Content-Length"] = str(len(body))
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            return Answer(answer.status, text, dict(answer.getheaders()))
        finally:
            connection.close()

    def act(self, action: str, **form: str) -> str:
        """Press a button; the path below the secret that it leads to."""
        answer = self.ask("POST", action, form)
        assert answer.status == 303, answer
        return answer.headers["Location"].removeprefix(self.server.root)

    def until(self, path: str, *words: str) -> str:
        """The page once it has one of these words."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            text = html.unescape(self.ask("GET", path).text)
            if any(word in text for word in words):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{words} did not come: {text}")


def question_of(page: str) -> str:
    found = re.search(r'name="question" value="([0-9a-f]{32})"', page)
    assert found, page
    return found[1]


@contextmanager
def served(world: World, run: Callable[[Front], Any] | None = None) -> Iterator[Front]:
    """`run` does the tasks; None: the desk, in a thread of its own."""
    front = Front(world)
    work = run or (lambda front: front.desk.run())
    threads = [
        threading.Thread(target=front.server.serve_forever, args=(0.05,), daemon=True),
        threading.Thread(target=work, args=(front,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield front
    finally:
        front.ended.set()
        front.server.closing = True
        front.server.shutdown()
        front.server.server_close()
        threads[1].join(60)
        assert not threads[1].is_alive()
