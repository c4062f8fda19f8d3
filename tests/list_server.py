"""A server on this machine that speaks as GitHub's API, the hub's API, an index and file storage."""

from __future__ import annotations

import hashlib
import json
import math
import re
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from wheel_files import sha256

CERTIFICATE = Path(__file__).with_name("localhost.pem")
_SENT = 2**15  # bytes at a time


@dataclass
class Reply:
    """An answer; a status of 200 carries an ETag and becomes 304 where the client has that."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None  # bytes after which the connection is closed
    pause: float = 0.0  # seconds after each piece


@dataclass
class ListServer:
    """The replies by path with query, and what was asked for.

    Attributes:
        ranges: parts of files are sent.
        lasts: requests until it is gone; a half of one is the half of an answer.
        asked: path and status of every request.
        sent: bytes of content by path.
    """

    address: str
    replies: dict[str, Reply] = field(default_factory=dict)
    ranges: bool = True
    lasts: float = math.inf
    asked: list[tuple[str, int]] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    tokens: list[str | None] = field(default_factory=list)

    def wheel(self, file: Path) -> str:
        """Serve a wheel; its address."""
        self.replies[f"/files/{file.name}"] = Reply(file.read_bytes())
        return f"{self.address}/files/{file.name}"

    def releases(self, name: str, *pages: Sequence[dict[str, Any]]) -> str:
        """Serve releases of GitHub, one a page, with these assets; the API's address."""
        path = f"/repos/{name}/releases"
        queries = ["?per_page=100", *(f"?per_page=100&page={n}" for n in range(2, len(pages) + 1))]
        for number, assets in enumerate(pages):
            following = queries[number + 1 : number + 2]
            link = f'<{self.address}{path}{following[0]}>; rel="next"' if following else None
            headers = {"Link": f'{link}, <{self.address}/last>; rel="last"'} if link else {}
            body = json.dumps([{"tag_name": f"v{number}", "assets": list(assets)}]).encode()
            self.replies[path + queries[number]] = Reply(body, headers=headers)
        return self.address + path

    def asset(self, file: Path, *, digest: bool = True) -> dict[str, Any]:
        """The asset of a release, as the API describes it; without digest as those before 2025."""
        return {
            "name": file.name,
            "browser_download_url": self.wheel(file),
            "size": file.stat().st_size,
            "digest": f"sha256:{sha256(file)}" if digest else None,
            "state": "uploaded",
        }

    def hub(self, name: str, *files: Path) -> str:
        """Serve the tree and the files of a repository of the hub; the API's address."""
        tree: list[dict[str, Any]] = [{"type": "file", "path": "README.md", "size": 5}]
        for file in files:
            lfs = {"oid": sha256(file), "size": file.stat().st_size}
            tree.append({"type": "file", "path": file.name, "size": lfs["size"], "lfs": lfs})
            self.replies[f"/{name}/resolve/main/{file.name}"] = Reply(file.read_bytes())
        path = f"/api/models/{name}/tree/main"
        self.replies[f"{path}?recursive=true"] = Reply(json.dumps(tree).encode())
        return self.address + path

    def index(self, name: str, *files: Path) -> str:
        """Serve a package index with these wheels and their hashes (PEP 503); its address."""
        pages: dict[str, list[str]] = {}
        for file in files:
            project = file.name.split("-")[0].replace("_", "-").lower()
            link = f'<a href="{self.wheel(file)}#sha256={sha256(file)}">{file.name}</a>'
            pages.setdefault(project, []).append(link)
        for project, links in pages.items():
            page = f"<!DOCTYPE html>{'<br>'.join(links)}"
            self.replies[f"/{name}/{project}/"] = Reply(page.encode())
        return f"{self.address}/{name}"

    def answer(self, path: str, etag: str | None, wanted: str | None = None) -> Reply:
        """The reply to a request, with its ETag and the range that it asks for."""
        reply = self.replies.get(path, Reply(status=404))
        if reply.status != 200:
            return reply
        own = f'"{hashlib.sha256(reply.body).hexdigest()}"'
        headers = {"ETag": own, **reply.headers}
        if etag == own:
            return Reply(status=304, headers=headers)
        part = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
        if part is None or not self.ranges:
            return replace(reply, headers=headers)
        size = len(reply.body)
        first = int(part[1]) if part[1] else max(0, size - int(part[2]))
        if first >= size:
            return Reply(status=416)
        last = min(int(part[2]), size - 1) if part[1] and part[2] else size - 1
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return Reply(reply.body[first : last + 1], 206, headers)


@contextmanager
def list_server(*, tls: bool = False) -> Iterator[ListServer]:
    """A server for the block; with TLS one of a certificate that nobody signed, CERTIFICATE."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers
            reply = served.answer(self.path, asked.get("If-None-Match"), asked.get("Range"))
            left = served.lasts - len(served.asked)
            if left < 1:
                reply = replace(reply, cut=len(reply.body) // 2)
            served.asked.append((self.path, reply.status))
            served.tokens.append(self.headers.get("Authorization"))
            if left <= 0:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            body = reply.body[: reply.cut]
            with suppress(OSError):  # a client that has enough closes the connection
                for start in range(0, len(body), _SENT):
                    piece = body[start : start + _SENT]
                    served.sent[self.path] += len(piece)  # before the client can look
                    self.wfile.write(piece)
                    time.sleep(reply.pause)

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ListServer(f"http://127.0.0.1:{httpd.server_address[1]}")
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
        served.address = f"https://localhost:{httpd.server_address[1]}"
        httpd.handle_error = lambda *_: None  # type: ignore[method-assign]  # refused handshakes
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
