"""The progress of a download: pip's lines, and those for people."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from list_server import ListServer
from rich.console import Console
from wheel_files import make_wheel

from tritonwin.output import terminal
from tritonwin.output.changes import follow
from tritonwin.output.terminal import Meter
from tritonwin.output.text import megabytes
from tritonwin.remedies.plan import FileSource
from tritonwin.remedies.records import ProgressEvent
from tritonwin.remedies.target_pip import stage
from tritonwin.support.pip import Pip


def test_how_far_a_wheel_is(server: ListServer, tmp_path: Path) -> None:
    pip = pytest.importorskip("pip", reason="this environment has no pip")
    told: list[tuple[int, int | None]] = []
    wheel = make_wheel(tmp_path, "big-1.0-py3-none-any.whl", more={"big.bin": bytes(3_000_000)})
    size, address = wheel.stat().st_size, server.wheel(wheel)
    source = FileSource(name="big", version="1.0", location=address, size=size)
    stage(
        Pip((sys.executable, "-m", "pip"), pip.__version__),
        [source],
        tmp_path / "root",
        lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (size, size)
    assert list((tmp_path / "root").rglob("big.bin"))
    # pip saw a file of a cache
    (info,) = (tmp_path / "root").rglob("*.dist-info")
    assert not (info / "direct_url.json").exists()
    assert "direct_url" not in (info / "RECORD").read_text()


def test_progress_on_a_terminal_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(terminal, "console", lambda: out)
    meter = Meter()
    meter.update(megabytes(1_000_000, None))
    meter.update(megabytes(4_000_000, 4_000_000))
    meter.show()
    meter.show()
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "4.0/4.0 MB" in shown
    assert shown.isascii()


def test_a_download_that_fails_leaves_the_terminal_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(terminal, "console", lambda: out)
    with Meter() as meter:
        follow(meter, ProgressEvent(done=1_000_000, total=4_000_000))
        # what comes next, a line or a proof, would take the bar away; an error brings none
    # the cursor that the bar hid is shown again
    assert out.file.getvalue().rindex("\x1b[?25h") > out.file.getvalue().rindex("\x1b[?25l")  # type: ignore[attr-defined]
