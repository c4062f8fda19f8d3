"""A headless Chromium for the tests of HTML reports, driven through its debugging pipe.

It comes from Debian's packages into the lane's cache, as Wine does: no root, nothing installed.
The pipe (https://chromedevtools.github.io/devtools-protocol) needs no client library, gives pages
the width of a phone, which a window cannot have, and tells every request that a page makes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from winlane.cache import Cache, fingerprint
from winlane.errors import LaneError, LaneUnavailable
from winlane.wine import require_debian, run, unpack_debian

Scheme = Literal["light", "dark"]

PACKAGES = (
    "chromium-headless-shell", "chromium-common", "libasyncns0", "libdouble-conversion3",
    "libflac12", "libharfbuzz-subset0", "libminizip1", "libmp3lame0", "libmpg123-0", "libogg0",
    "libopenh264-7", "libopenjp2-7", "libopus0", "libpulse0", "libsndfile1", "libvorbis0a",
    "libvorbisenc2", "libxnvctrl0",
)  # fmt: skip
_LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
_LIMIT = 180.0  # seconds for one answer; a busy machine takes long to start a browser


def provide(cache: Cache | None = None) -> Path:
    """The unpacked packages.

    Raises:
        LaneUnavailable: they cannot be had here, or a library that they need is missing.
    """
    cache = cache or Cache.open()
    name = f"browser-{fingerprint(*PACKAGES)}"
    if not (cache.root / name).exists():
        require_debian()

    def unpack(folder: Path) -> None:
        unpack_debian(folder, PACKAGES)

    tree = cache.product(name, unpack, "fetching a headless Chromium (about 100 MB)")
    listed = run("ldd", _program(tree), check=False, env=_variables(tree)).stdout.splitlines()
    missing = [line.split()[0] for line in listed if "not found" in line]
    if missing:
        raise LaneUnavailable(
            f"this system lacks libraries of the headless browser: {', '.join(missing)}"
        )
    return tree


def _program(tree: Path) -> Path:
    return tree / "usr/lib/chromium/chromium-headless-shell"


def _variables(tree: Path) -> dict[str, str]:
    libraries = tree / _LIBRARIES
    return {
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{libraries}:{libraries / 'pulseaudio'}",
    }


@dataclass
class Page:
    """A page as it is shown: what it asked the network for, and how large it became."""

    browser: Browser
    session: str
    target: str

    @property
    def requests(self) -> list[str]:
        """The addresses that it asked for so far."""
        events = self.browser.events_of(self, "Network.requestWillBeSent")
        return [event["request"]["url"] for event in events]

    @property
    def errors(self) -> list[str]:
        """The complaints of the browser so far, such as those about the page's policy."""
        entries = (event["entry"] for event in self.browser.events_of(self, "Log.entryAdded"))
        return [f"{e['text']} {e.get('url', '')}" for e in entries if e["level"] == "error"]

    def key(self, name: str, text: str = "") -> None:
        """Press a key, "Tab"; `text` is what it types: a carriage return for Enter."""
        codes = {"Tab": 9, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            asked = {"type": kind, "key": name, "windowsVirtualKeyCode": codes[name]}
            if text and kind == "keyDown":
                asked["text"] = text
            self.browser.call("Input.dispatchKeyEvent", asked, self)

    def press(self, button: str) -> None:
        """Press a button by its text, once it is there."""
        found = f"[...document.querySelectorAll('button')].find(b => b.textContent == {button!r})"
        self.until(found)
        self.value(f"{found}.click()")

    def until(self, expression: str, limit: float = 60) -> None:
        """Wait until an expression is true, also through other pages.

        Raises:
            LaneError: it does not become true; the message has the text of the page.
        """
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            with contextlib.suppress(LaneError):  # between two pages
                if self.value(f"!!({expression})"):
                    return
            time.sleep(0.1)
        raise LaneError(f"{expression} is not so: {self.value('document.body.innerText')}")

    def violations(self) -> list[Any]:
        """The rules of axe that it breaks, with the elements."""
        axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        self.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        self.value(f"{axe}; 0")
        self.value("axe.run(document).then(found => { window.found = found; }); 0")
        self.until("window.found")
        found: list[Any] = self.value(
            "found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))])"
        )
        return found

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression, even if the page's policy forbids scripts."""
        asked = {"expression": expression, "returnByValue": True}
        answer = self.browser.call("Runtime.evaluate", asked, self)
        if "exceptionDetails" in answer:
            raise LaneError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, file: Path, *, height: int | None = None) -> None:
        """The whole page as PNG, or its first `height` CSS pixels."""
        size = self.value("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": height or size[1], "scale": 1}
        asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        answer = self.browser.call("Page.captureScreenshot", asked, self)
        file.write_bytes(base64.b64decode(answer["data"]))


class Browser:
    """One browser process; made by `started`."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []

    def open(
        self, url: str, *, width: int, height: int = 844, scheme: Scheme = "light",
        scripts: bool = True,
    ) -> Page:  # fmt: skip
        """Show `url` as a screen of `width` CSS pixels does, and wait until it is loaded.

        Nothing is kept from page to page: a site remembers the scheme that it was first seen in.
        """
        own = self.call("Target.createBrowserContext")
        target = self.call("Target.createTarget", {"url": "about:blank", **own})["targetId"]
        attach = {"targetId": target, "flatten": True}
        page = Page(self, self.call("Target.attachToTarget", attach)["sessionId"], target)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        for method, parameters in (
            ("Page.enable", {}),
            ("Network.enable", {}),
            ("Log.enable", {}),
            ("Emulation.setDeviceMetricsOverride", size),
            ("Emulation.setEmulatedMedia", media),
            ("Emulation.setScriptExecutionDisabled", {"value": not scripts}),
            ("Page.navigate", {"url": url}),
        ):
            self.call(method, parameters, page)
        self._wait("Page.loadEventFired", page)
        return page

    def events_of(self, page: Page, method: str) -> list[Any]:
        return [
            event["params"]
            for event in self._events
            if event["method"] == method and event.get("sessionId") == page.session
        ]

    def close(self, page: Page) -> None:
        self.call("Target.closeTarget", {"targetId": page.target})

    def call(
        self, method: str, parameters: dict[str, Any] | None = None, page: Page | None = None
    ) -> dict[str, Any]:
        """One command of the protocol.

        Raises:
            LaneError: the browser refuses it, or does not answer in time.
        """
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if page:
            message["sessionId"] = page.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _LIMIT
        while (answer := self._message(deadline)).get("id") != self._number:
            self._events.append(answer)
        if "error" in answer:
            raise LaneError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _wait(self, method: str, page: Page) -> None:
        deadline = time.monotonic() + _LIMIT

        while not self.events_of(page, method):
            self._events.append(self._message(deadline))

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                raise LaneError(
                    "the headless browser ended" if ready else "the headless browser is silent"
                )
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextlib.contextmanager
def started(tree: Path) -> Iterator[Browser]:
    """The browser, with a profile of its own that is gone afterwards."""
    profile = tempfile.mkdtemp(prefix="tritonwin-browser-")
    requests, answers = os.pipe(), os.pipe()
    command = [
        str(_program(tree)), "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
        "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", f"--user-data-dir={profile}",
    ]  # fmt: skip
    # The browser reads from 3 and writes to 4, which may be somebody else's here: posix_spawn puts
    # ours there in the child alone. Far away first, or one would overwrite the other.
    actions = [
        (os.POSIX_SPAWN_DUP2, requests[0], 103), (os.POSIX_SPAWN_DUP2, answers[1], 104),
        (os.POSIX_SPAWN_DUP2, 103, 3), (os.POSIX_SPAWN_DUP2, 104, 4),
        (os.POSIX_SPAWN_CLOSE, 103), (os.POSIX_SPAWN_CLOSE, 104),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]  # fmt: skip
    variables = {**_variables(tree), "HOME": profile}
    process = os.posix_spawn(command[0], command, variables, file_actions=actions, setpgroup=0)
    os.close(requests[0])
    os.close(answers[1])
    try:
        yield Browser(answers[0], requests[1])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(answers[0])
        os.close(requests[1])
        shutil.rmtree(profile, ignore_errors=True)
