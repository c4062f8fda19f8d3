"""ComfyUI's side: the line at the start, the routes of the tab, and the errors that ComfyUI logs.

The judgement and its words are tritonwin's. Of ComfyUI itself two things are read: the attention
that it chose, and its log. Valid on Python 3.9.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from .reading import CannotReadError, Reading, file

_log = logging.getLogger("tritonwin")
_PAUSE = 2.0  # seconds after ComfyUI's start
_MOST = 1 << 18  # characters of an error that are kept
_TRACEBACK = "Traceback (most recent call last)"
# ComfyUI logs them for each call of an attention that failed, and then takes PyTorch's
_REFUSALS = ("Error running sage attention", "Flash Attention failed")
# functions of comfy.ldm.modules.attention: a name for people, and the distribution behind it
_ATTENTION = {
    "attention_sage": ("SageAttention", "sageattention"),
    "attention_flash": ("FlashAttention", "flash-attn"),
    "attention_xformers": ("xFormers' attention", "xformers"),
    "attention_pytorch": ("PyTorch's attention", ""),
    "attention_sub_quad": ("ComfyUI's sub-quadratic attention", ""),
    "attention_split": ("ComfyUI's split attention", ""),
}


class Heard(logging.Handler):
    """The last traceback, and the last failure of an attention, among ComfyUI's log records."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(message)s"))
        self._error = self._refusal = ""
        self.refusals = 0

    @property
    def log(self) -> str:
        return "\n".join(filter(None, (self._error, self._refusal)))

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # whoever logs is not to suffer from it
            self.keep(self.format(record))

    def keep(self, text: str) -> None:
        if text.lstrip().startswith(_REFUSALS):
            self._refusal = text[-_MOST:]
            self.refusals += 1
        elif _TRACEBACK in text:
            self._error = text[-_MOST:]


class Tab:
    """Answers what the tab asks. tritonwin is called in threads, so that ComfyUI goes on."""

    def __init__(self) -> None:
        self.reading = Reading()
        self.heard = Heard()
        self._jobs: dict[str, asyncio.Future[Any]] = {}

    async def work(self, name: str, job: Callable[[], Any]) -> Any:
        """The result of `job`, or a document with `error`; whoever asks meanwhile shares it."""
        future = self._jobs.get(name)
        if future is None:
            loop = asyncio.get_running_loop()
            future = self._jobs[name] = loop.create_future()
            future.add_done_callback(lambda _: self._jobs.pop(name))

            def run() -> None:
                try:
                    result = job()
                except Exception as error:  # noqa: BLE001 - the tab shows it
                    result = {"error": _said(error)}
                with contextlib.suppress(RuntimeError):  # ComfyUI has ended
                    loop.call_soon_threadsafe(future.set_result, result)

            threading.Thread(target=run, daemon=True, name="tritonwin").start()
        return await asyncio.shield(future)

    def report(self, *, again: bool) -> dict[str, Any]:
        """The document of `tritonwin doctor`, and what the tab adds to it."""
        self.reading.look(again=again)
        return {
            **self.reading.doctor,
            "line": self.line(),
            "attention": self.attention(),
            "refusals": self.heard.refusals,
            "repair": _repair(),
        }

    def explain(self) -> dict[str, Any]:
        """The document of `tritonwin explain` on the last error; empty where none was logged."""
        log = self.heard.log
        return self.reading.explain(log) if log else {}

    def problem(self) -> dict[str, Any] | None:
        grave = (p for p in self.reading.doctor["problems"] if p["severity"] != "info")
        return next(grave, None)

    def line(self) -> str:
        """The state in one line."""
        if problem := self.problem():
            return f"problem: {problem['title']}"
        versions = self.reading.versions
        triton = versions.get("triton-windows") or versions.get("triton")
        found = [
            f"{name} {_short(version)}"
            for name, version in (("Triton", triton), ("torch", versions.get("torch")))
            if version
        ]
        fit = " fit" if len(found) > 1 else ""
        return f"{' and '.join(found)}{fit}; {self.attention()} in use"

    def attention(self) -> str:
        """The attention that ComfyUI takes where no node chooses another."""
        module = sys.modules.get("comfy.ldm.modules.attention")
        function = getattr(module, "optimized_attention", None)
        called = getattr(function, "__name__", "an unknown attention")
        name, package = _ATTENTION.get(called, (called, ""))
        version = self.reading.versions.get(package)
        return f"{name} {_short(version)}" if version else name

    async def started(self, _: object) -> None:
        """ComfyUI listens in a moment: look at the machine after that."""

        def say() -> None:
            threading.Thread(target=self.say, daemon=True, name="tritonwin").start()

        asyncio.get_running_loop().call_later(_PAUSE, say)

    def say(self) -> None:
        """Log the line of the start."""
        try:
            self.reading.look(again=False)
            if problem := self.problem():
                page = f"{_typed()} explain --about {problem['id']}"
                _log.warning("[tritonwin] %s. Its page: %s", self.line(), page)
            else:
                _log.info("[tritonwin] %s", self.line())
        except Exception as error:  # noqa: BLE001 - a thread of ComfyUI
            _log.warning("[tritonwin] %s", _said(error))


def begin() -> None:
    """Take part in the ComfyUI that is starting."""
    from aiohttp import web
    from server import PromptServer

    tab, server = Tab(), PromptServer.instance
    routes: dict[str, Callable[[], Any]] = {
        "report": lambda: tab.report(again=False),
        "look": lambda: tab.report(again=True),
        "error": tab.explain,
        "issue": lambda: {"text": tab.reading.issue(tab.heard.log)},
    }

    def answering(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
                return web.json_response({"error": "This is for ComfyUI's own page."}, status=403)
            return web.json_response(await tab.work(name, routes[name]))

        return answer

    for name in routes:
        add = server.routes.post if name == "look" else server.routes.get
        add(f"/tritonwin/{name}")(answering(name))
    server.app.on_startup.append(tab.started)
    logging.getLogger().addHandler(tab.heard)
    _catch_up(tab.heard)


def _catch_up(heard: Heard) -> None:
    """Take what was logged before this was loaded, as by nodes that failed."""
    logs: Any = getattr(sys.modules.get("app.logger"), "get_logs", list)()
    for entry in list(logs or ()):
        heard.keep(entry["m"])


def _short(version: str) -> str:
    return ".".join(version.partition("+")[0].split(".")[:2])


def _said(error: Exception) -> str:
    known = isinstance(error, CannotReadError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _repair() -> str:
    """The way to repair, which is never taken from here; no folder above ComfyUI's is named."""
    place = Path(*file().parts[-3:])
    start = f"double-click {place}" if os.name == "nt" else f"run: python {place} ui"
    return (
        f"Nothing is changed from here. To repair, close ComfyUI and {start}. It shows a plan, and "
        f"asks. In a command, type {place} in the place of tritonwin."
    )


def _typed() -> str:
    """The words that start tritonwin in a terminal."""
    return f'"{file()}"' if os.name == "nt" else f'"{sys.executable}" "{file()}"'
