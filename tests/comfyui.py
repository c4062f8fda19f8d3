"""A stand-in for ComfyUI: what a custom node meets when it is loaded, served by the real aiohttp.

After ComfyUI 0.3.64: `load_custom_node` of nodes.py, `PromptServer` of server.py (routes, start),
`get_logs` of app/logger.py, the chosen function of comfy/ldm/modules/attention.py. In the folder of
the node lies a program in place of the single file: the real tritonwin, on a machine of the tests.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

NODE = Path(__file__).resolve().parents[1] / "integrations" / "comfyui"
PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
import healthy
from tritonwin.cli.options import TargetOptions
with open({calls!r}, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
TargetOptions.collect = lambda self, **_: healthy.changed({changes})
from tritonwin.__main__ import main
sys.exit(main())
"""

# the frontend, as far as the tab meets it: one tab, which is open
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>stand-in</title>
<link rel="icon" href="data:,"><style>body { background: #171718; color: white; --fg-color: white }
a { color: #8af }</style>
<script type="module" src="/extensions/tritonwin/tritonwin.js"></script></head>
<body><main><h1>ComfyUI</h1><h2>Sidebar</h2><div id="tab"></div></main></body></html>"""
APP = """export const app = {
  extensionManager: { registerSidebarTab(tab) { tab.render(document.getElementById("tab")); } },
  registerExtension(extension) { extension.setup(); },
};"""
API = """export const api = new class extends EventTarget {
  fetchApi(path, options) { return fetch("/api" + path, options); }
};
window.api = api;"""


class StandInPromptServer:
    """The parts of ComfyUI's server that a node is given."""

    instance: StandInPromptServer

    def __init__(self) -> None:
        StandInPromptServer.instance = self
        self.routes = web.RouteTableDef()
        self.app = web.Application()

    def add_routes(self) -> None:
        """All routes, also below /api as the frontend asks for them, and the frontend."""
        below = web.RouteTableDef()
        for each in self.routes:
            assert isinstance(each, web.RouteDef)
            below.route(each.method, f"/api{each.path}")(each.handler)
        self.app.add_routes([*self.routes, *below])
        script = (NODE / "web" / "tritonwin.js").read_text("utf-8")
        for path, kind, text in (
            ("/", "text/html", PAGE),
            ("/scripts/app.js", "text/javascript", APP),
            ("/scripts/api.js", "text/javascript", API),
            ("/extensions/tritonwin/tritonwin.js", "text/javascript", script),
        ):
            self.app.router.add_get(path, _giving(kind, text))


def _giving(kind: str, text: str) -> Any:
    async def answer(_: web.Request) -> web.Response:
        policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:"
        headers = {"Content-Security-Policy": policy}
        return web.Response(text=text, content_type=kind, headers=headers)

    return answer


class StandInComfyUI:
    """A ComfyUI that has just begun to load its custom nodes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "ComfyUI" / "custom_nodes" / "tritonwin"
        shutil.copytree(NODE, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.calls = folder / "calls.txt"
        self.logged: list[dict[str, str]] = []
        self.module: ModuleType
        self.address = ""
        attention = SimpleNamespace(optimized_attention=lambda: None)
        attention.optimized_attention.__name__ = "attention_sage"
        for name, module in {
            "server": SimpleNamespace(PromptServer=StandInPromptServer),
            "app.logger": SimpleNamespace(get_logs=lambda: self.logged),
            "comfy.ldm.modules.attention": attention,
        }.items():
            patch.setitem(sys.modules, name, module)
        self._patch = patch
        StandInPromptServer()
        self.machine()

    def machine(self, changes: str = "") -> None:
        """Put tritonwin there, on a healthy machine with these `changes` in Python's words."""
        tests = str(Path(__file__).parent)
        self.program(PROGRAM.format(tests=tests, calls=str(self.calls), changes=changes))

    def program(self, text: str) -> None:
        (self.folder / "tritonwin.pyz").write_text(text, "utf-8")

    def load(self) -> Any:
        """As ComfyUI loads a node; the module `tab` of it, without the pause after the start."""
        name = str(self.folder).replace(".", "_x_")
        spec = importlib.util.spec_from_file_location(name, self.folder / "__init__.py")
        assert spec is not None
        assert spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        self._patch.setitem(sys.modules, name, self.module)
        spec.loader.exec_module(self.module)
        tab = sys.modules.get(f"{name}.tab")
        if tab is not None:
            self._patch.setattr(tab, "_PAUSE", 0.0)
        return tab

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The server listens; what the node put into it can be asked for."""
        server = StandInPromptServer.instance
        server.add_routes()
        loop, runner = asyncio.new_event_loop(), web.AppRunner(server.app, access_log=None)

        async def start() -> None:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.address = f"http://127.0.0.1:{runner.addresses[0][1]}"

        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(start(), loop).result(60)
            yield
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(60)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def ask(self, name: str, method: str = "GET", **headers: str) -> Any:
        """The document of a route, and of a refusal too."""
        sent = {each.replace("_", "-"): value for each, value in headers.items()}
        url = f"{self.address}/tritonwin/{name}"
        request = urllib.request.Request(url, method=method, headers=sent)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            return {"status": refused.code, **json.load(refused)}
