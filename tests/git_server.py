"""A server that asks for a login: repositories by git's own CGI program, and files beside them."""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tritonwin.system.host import Host

_GIT = next(iter(Host.this_machine().executables("git")), None)
_FOLDER = (
    subprocess.run([str(_GIT), "--exec-path"], capture_output=True, timeout=60, check=True).stdout
    if _GIT
    else b""
)
_BACKEND = Path(os.fsdecode(_FOLDER.strip()), "git-http-backend")
AVAILABLE = _BACKEND.is_file()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    login: str

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self._send(401, {"WWW-Authenticate": 'Basic realm="x"'}, b"")
            return
        path, _, query = self.path.partition("?")
        file = self.root / path.lstrip("/")
        if file.is_file() and ".git" not in file.parts:
            self._send(200, {}, file.read_bytes())
        else:
            self._send(200, *self._git(path, query))

    def _git(self, path: str, query: str) -> tuple[dict[str, str], bytes]:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            [str(_BACKEND)], input=body, env=env, capture_output=True, timeout=60, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.partition(": ") for line in head.decode().splitlines()]
        return {name: value for name, _, value in fields if name != "Status"}, content

    def _send(self, status: int, head: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**head, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        del format, args


@contextlib.contextmanager
def served(root: Path, login: str) -> Iterator[str]:
    """Its address without the login, "http://127.0.0.1:PORT"."""
    handler = type("Handler", (_Handler,), {"root": root, "login": login})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
