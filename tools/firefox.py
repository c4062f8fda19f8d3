"""A headless Firefox for the tests of pages, driven by Marionette, its own remote control.

Playwright drives a Firefox of its own build alone, which Debian does not have.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from browser import Page, Scheme, provide
from winlane.errors import LaneError

_LIMIT = 180.0  # seconds for its start and for an answer
_SCHEMES: dict[Scheme, int] = {"dark": 0, "light": 1}


@dataclass(frozen=True)
class Marionette:
    """The part of Playwright's page that `browser.Page` uses, by Firefox's own protocol."""

    connection: socket.socket
    numbers: Iterator[int] = field(default_factory=count)

    def call(self, method: str, **given: object) -> Any:
        """The answer to a command. Raises Playwright's Error where Firefox refuses it."""
        from playwright.sync_api import Error

        sent = json.dumps([0, next(self.numbers), method, given]).encode()
        self.connection.sendall(b"%d:%b" % (len(sent), sent))
        _, _, error, answer = self.answer()
        if error:
            raise Error(f"{method}: {error['message']}")
        return answer

    def answer(self) -> Any:
        """The next message: its length in bytes, a colon, JSON."""
        length = b""
        while (byte := self.connection.recv(1)) not in (b":", b""):
            length += byte
        data = b""
        while len(data) < int(length):
            data += self.connection.recv(int(length) - len(data))
        return json.loads(data)

    def evaluate(self, expression: str) -> Any:
        return self.call("WebDriver:ExecuteScript", script=f"return {expression}", args=[])["value"]

    def wait_for_timeout(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)

    def screenshot(self, *, path: Path, full_page: bool, clip: None = None) -> None:
        del clip  # a part of a page is looked at in Chromium alone
        answer = self.call("WebDriver:TakeScreenshot", full=full_page)
        path.write_bytes(base64.b64decode(answer["value"]))


@contextlib.contextmanager
def opened(url: str, *, width: int, scheme: Scheme = "light") -> Iterator[Page]:
    """A Firefox that shows `url`, with a profile of its own; the page is closed with the block.

    Raises:
        LaneUnavailable: it cannot be had here.
        LaneError: it does not start.
    """
    path, variables = provide("firefox-esr", "firefox-esr")
    with tempfile.TemporaryDirectory(prefix="tritonwin-firefox-") as profile:
        settings = {
            "marionette.port": 0,  # any
            "layout.css.prefers-color-scheme.content-override": _SCHEMES[scheme],
        }
        lines = (f"user_pref({json.dumps(k)}, {v});\n" for k, v in settings.items())
        Path(profile, "user.js").write_text("".join(lines), encoding="utf-8")
        with subprocess.Popen(
            [path, "--headless", "--marionette", "--no-remote", "--profile", profile],
            env={**variables, "HOME": profile},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                marionette = _connected(Path(profile, "MarionetteActivePort"))
                with marionette.connection:
                    marionette.call("WebDriver:NewSession")
                    marionette.call("WebDriver:SetWindowRect", width=width, height=900)
                    marionette.call("WebDriver:Navigate", url=url)
                    yield Page(marionette)
            finally:
                process.kill()


def _connected(port: Path) -> Marionette:
    deadline = time.monotonic() + _LIMIT
    while not (port.exists() and port.read_text("ascii").strip()):
        if time.monotonic() > deadline:
            raise LaneError("Firefox does not start")
        time.sleep(0.1)
    address = ("127.0.0.1", int(port.read_text("ascii")))
    marionette = Marionette(socket.create_connection(address, timeout=_LIMIT))
    marionette.answer()  # its greeting
    return marionette
