"""Downloads: places, contents, refusals. The server is on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import io
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from email.message import Message
from pathlib import Path

import pytest
from cases import cases
from list_server import CERTIFICATE, ListServer, Reply, list_server

from tritonwin.support import addresses, download
from tritonwin.support.addresses import DownloadError
from tritonwin.support.download import NotFoundError
from tritonwin.system import scratch

CONTENT = b"wheel " * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def address(server: ListServer) -> str:
    redirects = {"/to-http": "http://example.org/x", "/to-ok": "/ok", "/to-file": "file:///etc"}
    server.replies = {
        "/ok": Reply(CONTENT),
        **{path: Reply(status=302, headers={"Location": to}) for path, to in redirects.items()},
        **{f"/{status}": Reply(status=status) for status in (404, 410, 500)},
    }
    return server.address


def test_read_and_fetch(address: str, tmp_path: Path) -> None:
    assert download.read(f"{address}/ok") == CONTENT
    assert download.read(f"{address}/to-ok") == CONTENT
    came: list[int] = []
    download.fetch(f"{address}/ok", tmp_path / "f", sha256=SHA.upper(), progress=came.append)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert came[-1] == len(CONTENT)


def test_local_files(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(CONTENT)
    assert download.read(str(tmp_path / "a b")) == CONTENT
    assert download.read((tmp_path / "a b").as_uri()) == CONTENT
    with pytest.raises(NotFoundError):
        download.read(str(tmp_path / "c"))


def test_another_hash_leaves_nothing_behind(address: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(DownloadError, match=SHA):
        download.fetch(f"{address}/ok", tmp_path / "f", sha256="0" * 64)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_two_that_fetch_the_same_file_do_not_meet(address: str, tmp_path: Path) -> None:
    """The second begins and ends while the first is under way; then somebody reads the file."""
    to = tmp_path / "f"
    with contextlib.ExitStack() as readers:

        def another(done: int) -> None:
            del done
            download.fetch(f"{address}/ok", to, sha256=SHA)
            readers.enter_context(to.open("rb"))

        download.fetch(f"{address}/ok", to, sha256=SHA, progress=another)
    assert to.read_bytes() == CONTENT
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


FETCHES = """
import sys, time
from pathlib import Path
from tritonwin.support import download

def came(done):
    print(done, flush=True)
    time.sleep(600)

url, to, sha256 = sys.argv[1:]
download.fetch(url, Path(to), sha256=sha256, progress=came)
"""


def test_what_a_killed_one_left_is_taken_away_by_a_later_one(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "f"
    words = [sys.executable, "-c", FETCHES, f"{address}/ok", str(to), SHA]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.kill()
    assert list(tmp_path.iterdir())
    monkeypatch.setattr(scratch, "_OLD", 0)
    download.fetch(f"{address}/ok", tmp_path / "g", sha256=SHA)
    assert [p.name for p in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize(
    ("left", "asked"),
    [(CONTENT[:2000], [206]), (CONTENT, [416, 200]), (b"damaged", [206, 200]), (b"", [200])],
)
def test_what_a_killed_one_left_is_gone_on_with(
    server: ListServer, tmp_path: Path, left: bytes, asked: list[int]
) -> None:
    """A part of another file is fetched from the beginning."""
    server.replies = {"/ok": Reply(CONTENT)}
    (tmp_path / f"{SHA}.part").write_bytes(left)
    (tmp_path / f"{'0' * 64}.part").write_bytes(b"of another file")
    to = tmp_path / "f"
    download.fetch(f"{server.address}/ok", to, sha256=SHA, parts=tmp_path)
    assert to.read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "held"]
    assert [status for _, status in server.asked] == asked


@pytest.mark.parametrize("url", cases("places.toml", "not_https"))
def test_only_https(url: str) -> None:
    with pytest.raises(DownloadError, match=r"not https|no usable address"):
        download.read(url)


@pytest.mark.parametrize(("place", "trusted"), cases("places.toml", "trusted"))
def test_trusted_places(place: str, trusted: bool) -> None:
    assert addresses.is_trusted(place) is trusted


@pytest.mark.parametrize("place", cases("places.toml", "no_address"))
def test_what_is_no_address_is_said(server: ListServer, place: str) -> None:
    server.replies = {"/to": Reply(status=302, headers={"Location": place})}
    for url in (place, f"{server.address}/to"):
        with pytest.raises(DownloadError):
            download.read(url, timeout=5)


@pytest.mark.parametrize("said", ["bytes 5-4/1000", "bytes 900-899/1000", "bytes 7-12/1000"])
def test_a_part_that_was_not_asked_for_is_refused(server: ListServer, said: str) -> None:
    body = b"x" * 6 if "7" in said else b""
    server.replies = {"/f": Reply(body, 206, {"Content-Range": said})}
    with pytest.raises(download.NoRangesError):
        download.RangedFile(f"{server.address}/f", most=1000, timeout=5)


def test_a_length_that_is_no_number_says_nothing(server: ListServer) -> None:
    server.replies = {"/f": Reply(CONTENT, headers={"Content-Length": "\u00b2"})}
    answer = download.ask(f"{server.address}/f", limit=10000, timeout=5, headers={})
    assert answer is not None


@pytest.mark.parametrize("path", ["/to-http", "/to-file"])
def test_no_redirect_leads_elsewhere(address: str, path: str) -> None:
    with pytest.raises(DownloadError, match=r"not https|could not be read|HTTP 302"):
        download.read(address + path)


@pytest.mark.parametrize("to", ["http://localhost/x", "http://example.org/x", "file:///etc/x"])
def test_a_redirect_of_https_stays_https(to: str) -> None:
    request, headers = urllib.request.Request("https://example.org/x"), Message()
    with pytest.raises(DownloadError, match="not https"):
        download._CheckedRedirects().redirect_request(request, io.BytesIO(), 302, "", headers, to)


def test_the_host_of_a_file_address_is_not_lost() -> None:
    assert addresses.local_path("file://nas/share/x.whl") == Path("//nas/share/x.whl")
    assert addresses.local_path("file://localhost/share/x.whl") == Path("/share/x.whl")


@pytest.mark.parametrize(("path", "kind"), [("/404", NotFoundError), ("/410", NotFoundError), ("/500", DownloadError)])  # fmt: skip
def test_what_the_server_refuses(address: str, path: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=path[1:]):
        download.read(address + path)


def test_limit_and_no_answer(address: str) -> None:
    with pytest.raises(DownloadError, match="larger than 10 bytes"):
        download.read(f"{address}/ok", limit=10)
    with pytest.raises(DownloadError, match="could not be read"):
        download.read("http://127.0.0.1:1/x", timeout=5)


@pytest.mark.parametrize("slow", ["body", "headers", "silence"])
def test_a_slow_server_is_given_up_by_the_clock(slow: str) -> None:
    """One byte a moment, for ever: no read of it takes long."""
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError), listener.accept()[0] as client:
            client.recv(4096)
            first = b"HTTP/1.1 200 OK\r\n"
            client.sendall(first + (b"\r\n" if slow == "body" else b"X: "))
            while not stop.wait(0.05):
                client.sendall(b"" if slow == "silence" else b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        began = time.monotonic()
        with pytest.raises(DownloadError, match=r"did not come in time|timed out"):
            download.read(f"http://127.0.0.1:{listener.getsockname()[1]}/x", timeout=1)
        assert time.monotonic() - began < 3
        stop.set()


def test_a_certificate_of_no_known_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused, with the variable that names one's own authority; taken once it does."""
    monkeypatch.setenv("NO_PROXY", "*")
    with list_server(tls=True) as server:
        server.replies = {"/ok": Reply(CONTENT)}
        with pytest.raises(DownloadError, match="CERTIFICATE_VERIFY_FAILED") as refused:
            download.read(f"{server.address}/ok", timeout=20)
        assert "SSL_CERT_FILE" in refused.value.help
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert download.read(f"{server.address}/ok", timeout=20) == CONTENT


@pytest.mark.parametrize("ranges", [True, False])
def test_a_transfer_that_breaks_off(server: ListServer, tmp_path: Path, ranges: bool) -> None:
    """It goes on where it ended; where the server sends no parts, it starts again."""
    content = CONTENT * 500
    server.ranges, server.replies = ranges, {"/f": Reply(content, cut=2**21)}
    came: list[int] = []

    def then_whole(done: int) -> None:
        came.append(done)
        if done >= 2**21:
            server.replies["/f"] = Reply(content)

    digest = hashlib.sha256(content).hexdigest()
    download.fetch(f"{server.address}/f", tmp_path / "f", sha256=digest, progress=then_whole)
    assert (tmp_path / "f").read_bytes() == content
    assert [status for _, status in server.asked] == [200, 206 if ranges else 200]
    assert (came == sorted(came)) is ranges
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_another_hash_after_each_break(
    server: ListServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last transfer that is tried is whole, and of another content."""
    monkeypatch.setattr(download, "_PAUSE", 0)
    server.replies = {"/f": Reply(CONTENT, cut=100)}
    with pytest.raises(DownloadError, match=SHA):
        download.fetch(f"{server.address}/f", tmp_path / "f", sha256="0" * 64)
    assert [status for _, status in server.asked] == [200, 206, 200, 206]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("url", "shown"), cases("places.toml", "shown"))
def test_addresses_are_shown_without_passwords(url: str, shown: str) -> None:
    assert addresses.without_secrets(url) == shown


def test_passwords_are_sent_and_never_shown(server: ListServer, address: str) -> None:
    secret = address.replace("//", "//me:p%40ss@")
    assert download.read(f"{secret}/ok") == CONTENT
    assert (server.asked, server.tokens) == ([("/ok", 200)], ["Basic bWU6cEBzcw=="])
    with pytest.raises(DownloadError) as error:
        download.read(f"{secret}/404")
    assert "p%40ss" not in str(error.value)
