"""A headless Chromium for the tests of HTML pages, driven by Playwright.

It comes from Debian's packages into the lane's cache, as Wine does: no root, nothing installed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from winlane.cache import Cache, fingerprint
from winlane.errors import LaneUnavailable
from winlane.resources import BROWSERS
from winlane.wine import run, unpack_debian

Scheme = Literal["light", "dark"]

_LIMIT = 180_000  # milliseconds for an answer; a busy machine takes long to start a browser


class Program(NamedTuple):
    """A browser that was unpacked, and the variables that it needs."""

    path: Path
    variables: dict[str, str]


def provide(name: str = "chromium", program: str = "chromium-headless-shell") -> Program:
    """A browser of Debian, unpacked once into the lane's cache.

    Raises:
        LaneUnavailable: it cannot be had here, or a library that it needs is missing.
    """
    packages = BROWSERS[name]
    tree = Cache.open().product(
        f"browser-{fingerprint(*packages)}",
        lambda folder: unpack_debian(folder, packages),
        f"fetching {name} (about 100 MB)",
    )
    libraries = tree / "usr/lib/x86_64-linux-gnu"
    folders = (tree / "usr/lib" / name, libraries, libraries / "pulseaudio")
    variables = {
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "LD_LIBRARY_PATH": ":".join(map(str, folders)),
    }
    path = folders[0] / program
    listed = run("ldd", path, check=False, env=variables).stdout.splitlines()
    missing = [line.split()[0] for line in listed if "not found" in line]
    if missing:
        raise LaneUnavailable(f"this system lacks libraries of {name}: {', '.join(missing)}")
    return Program(path, variables)


@dataclass(frozen=True)
class Page:
    """A page as it is shown; `shown` is Playwright's.

    Attributes:
        requests: the addresses that it asked for so far.
        errors: the complaints of the browser so far, such as those about the page's policy.
    """

    shown: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression, even if the page's policy forbids scripts."""
        return self.shown.evaluate(expression)

    def until(self, expression: str, limit: float = 60) -> None:
        """Wait until an expression is true, also through other pages.

        Raises:
            AssertionError: it does not become true; the message has the text of the page.
        """
        from playwright.sync_api import Error

        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            with contextlib.suppress(Error):  # between two pages
                if self.value(f"!!({expression})"):
                    return
            self.shown.wait_for_timeout(100)
        raise AssertionError(f"{expression} is not so: {self.value('document.body.innerText')}")

    def press(self, button: str) -> None:
        """Press a button by its text, once it is there."""
        found = f"[...document.querySelectorAll('button')].find(b => b.textContent == {button!r})"
        self.until(found)
        self.value(f"{found}.click()")

    def violations(self) -> list[Any]:
        """The rules of axe that it breaks, with the elements."""
        axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        self.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        self.value(f"{axe}; 0")
        found: list[Any] = self.value(
            "axe.run(document).then(found => "
            "found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))]))"
        )
        return found

    def screenshot(self, file: Path, *, height: int | None = None) -> None:
        """The whole page as PNG, or its first `height` CSS pixels."""
        width = self.value("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height} if height else None
        self.shown.screenshot(path=file, full_page=True, clip=clip)


@dataclass(frozen=True)
class Browser:
    """One browser process; made by `started`."""

    chromium: Any

    def open(
        self, url: str, *, width: int, height: int = 844, scheme: Scheme = "light",
        scripts: bool = True,
    ) -> Page:  # fmt: skip
        """Show `url` as a screen of `width` CSS pixels does, and wait until it is loaded.

        Nothing is kept from page to page: a site remembers the scheme that it was first seen in.
        """
        context = self.chromium.new_context(
            viewport={"width": width, "height": height}, is_mobile=width < 600,
            color_scheme=scheme, java_script_enabled=scripts,
        )  # fmt: skip
        context.set_default_timeout(_LIMIT)
        page = Page(context.new_page())
        page.shown.on("request", lambda request: page.requests.append(request.url))

        def log(said: Any) -> None:
            if said.type == "error":
                page.errors.append(f"{said.text} {said.location['url']}")

        page.shown.on("console", log)
        page.shown.goto(url)
        return page

    def close(self, page: Page) -> None:
        page.shown.context.close()


@contextlib.contextmanager
def started(program: Program) -> Iterator[Browser]:
    """The browser, with a profile of its own that is gone afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program.path, env={**program.variables}, timeout=_LIMIT,
            chromium_sandbox=False,
        )  # fmt: skip
        yield Browser(chromium)
        chromium.close()
