"""The server of the local page: who may ask, and how much a client may take.

It is Python's own `http.server` on threads, on 127.0.0.1 alone. Also weighed: Starlette with
uvicorn (five more packages, 460 kB packed, and an event loop, while each call of tritonwin blocks
a thread) and bottle (100 kB, on the standard library's server and without limits, so that what
follows would be here as well). There are eight pages, a form each, no files and one client;
`http.server` is in every embedded Python and adds nothing to the single file. It has no limits of
its own. So:

- The address holds a ticket that is good for one request. It leads to a path with a secret of 256
  bits, which no list of processes shows. A cookie would go to every other port of this machine.
- Host, Origin and Sec-Fetch-Site have to be those of this page. Whoever does not know the secret
  learns nothing but that.
- A request has a deadline as a whole. Headers, forms and connections are bounded; when all are
  taken, the oldest connection that has not shown the secret is dropped.
- One request a connection (HTTP/1.0). No address names a file.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import select
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl

_CONNECTIONS = 32  # at the same time
_PATIENCE = 10.0  # seconds for a request, and for its answer
_MOST_FORM = 1 << 16  # bytes
_MOST_LOG = 24 << 20  # of a form that holds a log, which escapes may make three times as long
_LOOK = 0.2  # seconds between two looks at what an open page is to be told
_FORM = "application/x-www-form-urlencoded"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none at all, a form would come without its origin
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, kw_only=True)
class Response:
    status: int = 200
    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A request that is not let in. `status` is HTTP's."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class LocalServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """The server, bound when it is made; `serve_forever` runs in a thread of its own.

    Args:
        answer: makes the response to a request that was let in, in many threads: it takes the path
            behind the secret, and the fields of a form that was sent.
        version: changes when a page that is open has to be shown in its new state.
    """

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 128

    def __init__(
        self,
        answer: Callable[[str, Mapping[str, str] | None], Response],
        version: Callable[[], int],
    ) -> None:
        self.answer, self.version = answer, version
        self.root = f"/{secrets.token_urlsafe(32)}/"
        self._ticket: str | None = None
        self._lock = threading.RLock()
        self._open: dict[socket.socket, float] = {}  # until when each may take, by the clock
        self._known: set[socket.socket] = set()  # those that have shown the secret
        self._pages = 0
        self._seen = time.monotonic()
        self.watched = False  # a page with JavaScript was open at some time
        self.closing = False
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"

    def issue(self) -> str:
        """An address that opens the page once; one that was issued before opens it no more."""
        with self._lock:
            self._ticket = f"/{secrets.token_urlsafe(32)}"
            return f"{self.origin}{self._ticket}"

    def server_bind(self) -> None:
        if sys.platform == "win32":
            # there another program could take over the port
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        super().server_bind()

    def process_request(self, request: socket.socket, client_address: Any) -> None:  # type: ignore[override]
        with self._lock:
            if len(self._open) >= _CONNECTIONS:
                stranger = next((each for each in self._open if each not in self._known), None)
                if stranger is None:
                    self.shutdown_request(request)
                    return
                self._drop(stranger)
            self._open[request] = time.monotonic() + _PATIENCE
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Drop who takes too long; the base calls this several times a second."""
        with self._lock:
            now = time.monotonic()
            for late in [each for each, end in self._open.items() if end < now]:
                self._drop(late)

    def _drop(self, connection: socket.socket) -> None:
        del self._open[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # its thread then ends

    def limit(self, connection: socket.socket, seconds: float) -> None:
        """The time that the connection has from now on."""
        with self._lock:
            if connection in self._open:
                self._open[connection] = time.monotonic() + seconds

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        with self._lock:
            self._open.pop(request, None)
            self._known.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients go away at any time, and none must fill a console."""

    def let_in(self, path: str, connection: socket.socket) -> str | None:
        """The rest of the path behind the secret; None for the ticket, which is used up by that.

        Raises:
            RefusedError: neither.
        """
        with self._lock:
            if self._ticket and secrets.compare_digest(path.encode(), self._ticket.encode()):
                self._ticket = None
                return None
            head, rest = path[: len(self.root)], path[len(self.root) :]
            if not secrets.compare_digest(head.encode(), self.root.encode()):
                raise RefusedError(403, "This address is not known, or was used already.")
            self._known.add(connection)
            self._seen = time.monotonic()
            return rest

    def page(self, count: int) -> None:
        """A page was opened (1) or closed (-1)."""
        with self._lock:
            self._pages += count
            self.watched = True
            self._seen = time.monotonic()

    def unseen(self) -> float:
        """Seconds since anybody looked; 0 while a page is open."""
        with self._lock:
            return 0.0 if self._pages else time.monotonic() - self._seen


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer

    def do_GET(self) -> None:
        try:
            self._check_origin()
            path = self.server.let_in(self.path.partition("?")[0], self.connection)
            if path is None:
                self._send(Response(status=303, headers={"Location": self.server.root}))
            elif path == "events" and self.command == "GET":
                self._tell()
            else:
                form = self._form(path) if self.command == "POST" else None
                self.server.limit(self.connection, math.inf)
                self._send(self.server.answer(path, form))
        except RefusedError as refused:
            self.send_error(refused.status, str(refused))

    do_POST = do_GET  # noqa: N815 - the name that the base looks for

    def _check_origin(self) -> None:
        """Refuse what another page sent, or asked for under another name of this machine."""
        origin, said = self.server.origin, self.headers.get_all
        sites = {"same-origin"} if self.command == "POST" else {"same-origin", "none"}
        origins = said("Origin") or ([] if self.command == "GET" else [""])
        if (
            said("Host") != [origin.removeprefix("http://")]
            or any(each != origin for each in origins)
            or not {*(said("Sec-Fetch-Site") or ())} <= sites
        ):
            raise RefusedError(403, "This page answers to itself alone.")

    def _form(self, path: str) -> dict[str, str]:
        sizes, kind = self.headers.get_all("Content-Length") or [], self.headers.get_content_type()
        whole = len(sizes) == 1 and sizes[0].isdecimal() and "Transfer-Encoding" not in self.headers
        if not whole or kind != _FORM:
            raise RefusedError(400, "This is no form.")
        size = int(sizes[0][:12])
        if size > (_MOST_LOG if path == "explain" else _MOST_FORM):
            raise RefusedError(413, "This is too long. From a prompt: tritonwin explain FILE")
        body = self.rfile.read(size)
        try:
            if len(body) != size:
                raise ValueError
            return dict(parse_qsl(body.decode("ascii"), errors="replace", max_num_fields=20))
        except ValueError:
            raise RefusedError(400, "This is no form.") from None

    def _send(self, response: Response) -> None:
        self._begin(response)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    def _begin(self, response: Response) -> None:
        self.server.limit(self.connection, _PATIENCE)
        self.send_response(response.status)
        headers = {"Content-Type": response.kind, **_HEADERS, **response.headers}
        for name, value in headers.items():
            self.send_header(name, value)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        del explain
        text = f"{message or 'This request cannot be read.'}\n".encode("utf-8", "replace")
        self._send(Response(status=code, body=text, kind="text/plain; charset=utf-8"))

    def _tell(self) -> None:
        """Tell an open page whenever something changes, until it is closed or this ends."""
        self._begin(Response(kind="text/event-stream"))
        self.end_headers()
        self.server.page(1)
        try:
            told = -1
            while not self.server.closing:
                self.server.limit(self.connection, _PATIENCE)
                now = self.server.version()
                if now != told:
                    self.wfile.write(f"data: {now}\n\n".encode())
                    told = now
                if select.select([self.connection], [], [], _LOOK)[0]:
                    return  # the page was closed: nothing comes from it otherwise
            self.wfile.write(b"event: end\ndata: end\n\n")
        finally:
            self.server.page(-1)

    def version_string(self) -> str:
        return "tritonwin"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        del format, args
