"""A client of the local page, which asks as a browser does, or as one that tells lies."""

from __future__ import annotations

import html
import http.client
import re
import time
import urllib.parse
from dataclasses import dataclass, field

FORM = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)


class PageClient:
    """`address` is what the program prints; `root` the path of the home page, with the secret."""

    def __init__(self, address: str, root: str = "") -> None:
        self.address = address
        self.origin, _, self.ticket = address.rpartition("/")
        self.root = root

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def home(self) -> str:
        return f"{self.origin}{self.root}"

    def enter(self) -> None:
        """Use the ticket up."""
        answer = self.raw("GET", f"/{self.ticket}", Sec_Fetch_Site="none")
        assert answer.status == 303, answer
        self.root = answer.headers["Location"]

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str | None
    ) -> Answer:
        """A request as a browser sends it from the page, but for `headers` (None: without)."""
        body = urllib.parse.urlencode(form or {}) if method == "POST" else None
        return self.raw(method, self.root + path, body, **headers)

    def raw(
        self, method: str, path: str, body: str | bytes | None = None, **headers: str | None
    ) -> Answer:
        sent: dict[str, str | None] = {"Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": FORM}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent)
            body = body.encode() if isinstance(body, str) else body
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
        return answer.headers["Location"].removeprefix(self.root)

    def until(self, path: str, *words: str, limit: float = 60) -> str:
        """The page once it has one of these words."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            text = html.unescape(self.ask("GET", path).text)
            if any(word in text for word in words):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{words} did not come: {text}")

    def agree(self, path: str, *words: str, limit: float = 60) -> str:
        """Answer the question of a task with yes; its page once it has one of the words."""
        page = self.until(path, "Do it", "Failed", *words, limit=limit)
        self.act("answer", question=question_of(page), answer="yes")
        return self.until(path, *words, limit=limit)


def question_of(page: str) -> str:
    found = re.search(r'name="question" value="([0-9a-f]{32})"', page)
    assert found, page
    return found[1]
