"""How far a download is: what pip says of it, and what people see of it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from rich.console import Console

from tritonwin.output import terminal
from tritonwin.output.changes import ProgressPrinter
from tritonwin.output.terminal import DownloadBar
from tritonwin.remedies.plan import FileSource
from tritonwin.remedies.records import ProgressEvent
from tritonwin.remedies.target_pip import stage
from tritonwin.support.pip import Pip


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "*")
    served = tmp_path / "served"
    served.mkdir()
    with zipfile.ZipFile(served / "big-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("big.bin", b"0" * 3_000_000)
        wheel.writestr(
            "big-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: big\nVersion: 1.0\n"
        )
        wheel.writestr(
            "big-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("big-1.0.dist-info/RECORD", "")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served)))
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}/big-1.0-py3-none-any.whl"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_how_far_a_wheel_is(server: str, tmp_path: Path) -> None:
    pip = pytest.importorskip("pip", reason="this environment has no pip")
    told: list[tuple[int, int | None]] = []
    size = Path(tmp_path, "served", "big-1.0-py3-none-any.whl").stat().st_size
    source = FileSource(name="big", version="1.0", location=server, size=size)
    stage(
        Pip((sys.executable, "-m", "pip"), pip.__version__),
        [source],
        tmp_path / "root",
        lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (size, size)
    assert list((tmp_path / "root").rglob("big.bin"))
    (origin,) = (tmp_path / "root").rglob("direct_url.json")
    assert json.loads(origin.read_text())["url"] == server
    digest = base64.urlsafe_b64encode(hashlib.sha256(origin.read_bytes()).digest()).decode()
    row = f"{origin.parent.name}/{origin.name},sha256={digest.rstrip('=')},{origin.stat().st_size}"
    assert row in origin.with_name("RECORD").read_text().splitlines()


def test_a_bar_on_a_terminal_goes_again() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    bar = DownloadBar(out)
    bar.update(1_000_000, 4_000_000)
    bar.update(4_000_000, 4_000_000)
    bar.end()
    bar.end()
    assert "4.0/4.0 MB" in out.file.getvalue()  # type: ignore[attr-defined]


def test_a_size_that_is_not_known_is_not_made_up() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    bar = DownloadBar(out)
    bar.update(1_000_000, None)
    bar.update(2_000_000, 4_000_000)
    bar.update(3_000_000, None)
    bar.end()
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "3.0/? MB" in shown
    assert "/100 bytes" not in shown
    assert "3.0/4.0 MB" not in shown


def test_a_quiet_line_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 16.0, 16.0, 17.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    out = Console(file=io.StringIO(), width=80)
    bar = DownloadBar(out)
    for done in (1_000_000, 2_000_000, 3_000_000):
        bar.update(done, 4_000_000)
    assert out.file.getvalue() == "  2 of 4 MB\n"  # type: ignore[attr-defined]


def test_a_download_that_fails_leaves_the_terminal_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr("tritonwin.output.changes.console", lambda: out)
    with contextlib.closing(ProgressPrinter()) as printer:
        printer(ProgressEvent(done=1_000_000, total=4_000_000))
        # what comes next, a line or a proof, would take the bar away; an error brings none
    # the cursor that the bar hid is shown again
    assert out.file.getvalue().rindex("\x1b[?25h") > out.file.getvalue().rindex("\x1b[?25l")  # type: ignore[attr-defined]
