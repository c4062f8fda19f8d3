"""Faults while `install` is under way: a clear line, its exit status, and nothing half installed."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pytest
from list_server import ListServer, Reply
from page_client import PageClient, question_of
from public_lists import FAULTS, ONE_LIST, PORTAL, PURE, as_toml, serve_one
from target_env import TargetEnvironment

from tritonwin.cli.app import run
from tritonwin.journal import Store, faults

WHEEL = f"/files/{PURE}"
posix = pytest.mark.skipif(os.name == "nt", reason="signals and mounts of POSIX")


@dataclass
class Scene:
    server: ListServer
    target: TargetEnvironment
    downloads: Path
    words: tuple[str, ...]

    def run(self, *more: str) -> int:
        return run([*self.words, *more])

    def start(self, code: str = "", **variables: str) -> subprocess.Popen[str]:
        program = f"{code}\nimport runpy; runpy.run_module('tritonwin', run_name='__main__')"
        return subprocess.Popen(
            [sys.executable, "-c", program, *self.words, "--yes"],
            env={**os.environ, **variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @contextmanager
    def page(self, point: int = 0) -> Iterator[tuple[PageClient, subprocess.Popen[str]]]:
        """The page, in a process group of its own; it dies at that fault point."""
        program = (
            "import runpy, tritonwin.support.download as download; download._PAUSE = 0.0; "
            "runpy.run_module('tritonwin', run_name='__main__')"
        )
        words = ("ui", "--no-browser", "--python", str(self.target.python))
        with subprocess.Popen(
            [sys.executable, "-c", program, *words],
            env={**os.environ, faults.VARIABLE: str(point)}, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout
            client = PageClient(process.stdout.readline().split()[-1])
            client.enter()
            try:
                yield client, process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # pip too, as when the power is cut

    def installed(self) -> bool:
        return any(name.startswith("sageattention") for name in self.target.files())


@pytest.fixture
def scene(
    target_with_pip: TargetEnvironment,
    server: ListServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Scene:
    (tmp_path / "lists.toml").write_text(as_toml(serve_one(server, tmp_path)))
    for name, value in {
        "NO_PROXY": "*",
        "PIP_NO_INDEX": "1",
        "TRITONWIN_LISTS": str(tmp_path / "lists.toml"),
    }.items():
        monkeypatch.setenv(name, value)
    words = ("install", "sageattention", "--python", str(target_with_pip.python))
    return Scene(server, target_with_pip, tmp_path / "home" / "downloads", words)


def in_the_middle(scene: Scene, process: subprocess.Popen[str]) -> None:
    """Wait until a part of the wheel has come. The parts that were read before are few."""
    until = time.monotonic() + 60
    while scene.server.sent[WHEEL] < 2**20:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


@posix
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_ended_during_the_download(scene: Scene, how: signal.Signals) -> None:
    """Ctrl-C leaves nothing; with what a killed one left the next run goes on, and installs."""
    before = scene.target.files()
    page = scene.server.replies[WHEEL]
    scene.server.replies[WHEEL] = Reply(page.body, pause=0.05)
    # pytest may have been started where Ctrl-C is ignored
    handled = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    with scene.start(handled) as process:
        in_the_middle(scene, process)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    status = {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
    assert process.returncode == status, said
    assert "Traceback" not in said
    assert scene.target.files() == before
    parts = [part.stat().st_size for part in scene.downloads.glob("*.part")]
    assert bool(parts) is (how is signal.SIGKILL)
    scene.server.replies[WHEEL] = page
    scene.server.sent.clear()
    with scene.start() as again:
        said = "".join(again.communicate(timeout=120))
    assert again.returncode == 0, said
    assert scene.installed()
    assert list(scene.downloads.glob("*.part")) == []
    # the rest, and the parts that are read before
    assert scene.server.sent[WHEEL] <= len(page.body) - sum(parts) + 2**19
    assert run(["undo", "--yes"]) == 0
    assert scene.target.files() == before


@posix
@pytest.mark.parametrize("point", [8, 20])
def test_killed_during_the_installation(scene: Scene, point: int) -> None:
    before = scene.target.files()
    with scene.start(**{faults.VARIABLE: str(point)}) as process:
        said = process.communicate(timeout=120)
    assert process.returncode == -9, said
    assert scene.run("--yes") == 0
    whole = scene.target.files()
    assert scene.installed()
    assert run(["undo", "--yes"]) == 0
    assert scene.target.files() == before
    assert scene.run("--yes") == 0
    assert scene.target.files() == whole


@pytest.fixture
def full_disk(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A disk for downloads with room for half of the wheel."""
    scene.downloads.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(scene.downloads)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr!r}")
    yield
    subprocess.run(["umount", "--lazy", str(scene.downloads)], check=True)


@posix
@pytest.mark.usefixtures("full_disk")
def test_a_disk_that_is_full_in_the_middle(scene: Scene) -> None:
    before = scene.target.files()
    with scene.start() as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "error: the disk is full:" in said
    assert "help:  Make room, and run it again." in said
    assert scene.target.files() == before
    assert [path.name for path in scene.downloads.iterdir()] == ["held"]


def reply(path: str, answer: Reply) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    return lambda scene, _: scene.server.replies.__setitem__(path, answer)


def of_a_proxy(answer: Reply) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    """Everything goes through a proxy that gives this answer."""

    def through(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_PROXY")
        monkeypatch.setenv("http_proxy", scene.server.address)
        scene.server.replies[scene.server.address + ONE_LIST] = answer

    return through


def no_network(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")


OF_LISTS = {
    **{name: (reply(ONE_LIST, answer), line) for name, (answer, line) in FAULTS.items()},
    "proxy": (of_a_proxy(Reply(status=407)), "HTTP 407"),
    "no network": (no_network, "could not be read"),
}  # fmt: skip


@pytest.mark.parametrize("fault", OF_LISTS)
def test_a_list_that_cannot_be_read(
    scene: Scene,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    tmp_path: Path,
) -> None:
    """The list of the last run is used; without one it is an input that cannot be used."""
    cause, line = OF_LISTS[fault]
    assert scene.run("--dry-run") == 0
    capsys.readouterr()
    cause(scene, monkeypatch)
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "other"))
    assert scene.run("--dry-run") == 2
    said = " ".join(capsys.readouterr().out.split())
    assert line in said
    assert "a place could not be read" in said
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    assert scene.run("--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert line in said
    assert "its list of" in said
    assert PURE in said


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--index", "NONE/wheels.json"), 2),
        (("--index", "HOST/portal.html"), 2),
        (("--find-links", "NONE"), 2),
        (("--offline", "--index", "HOST/wheels.json"), 1),  # as it was asked for
        ((), 1),
    ],
)
def test_a_place_that_was_named_and_cannot_be_read(
    scene: Scene, tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    """Exit status 2 only where nothing else has the wheel."""
    scene.server.replies["/portal.html"] = Reply(PORTAL)
    named = [
        word.replace("NONE", str(tmp_path / "none")).replace("HOST", scene.server.address)
        for word in words
    ]
    assert scene.run("--dry-run", "--no-default-lists", *named) == status
    if "--offline" not in words:
        assert scene.run("--dry-run", *named) == 0


OF_WHEELS = {
    "portal": (Reply(PORTAL), 2, "has the hash"),
    "not there": (Reply(status=404), 1, "HTTP 404"),
    "cut": (Reply(b"PK" * 2**20, cut=2**16), 2, "broke off"),
}


@pytest.mark.parametrize("fault", OF_WHEELS)
def test_a_wheel_that_does_not_come(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    before = scene.target.files()
    scene.server.replies[WHEEL], status, line = OF_WHEELS[fault]
    scene.server.ranges = False
    monkeypatch.setattr("tritonwin.support.download._PAUSE", 0.0)
    assert scene.run("--yes", "--all") == status
    captured = capsys.readouterr()
    assert line in " ".join((captured.out + captured.err).split())
    assert scene.target.files() == before


# --- through the page


def undone(scene: Scene, client: PageClient) -> None:
    """Undo by the page whatever the journal says was changed."""
    for header in Store.default().journals():
        if header.state != "undone":
            task = client.act("undo", given=header.id)
            client.agree(task, "Everything is as it was before.")


def answered(client: PageClient, task: str) -> str:
    """The page of a task, agreed to where it asks, once it has ended."""
    page = client.until(task, "Do it", ">Failed<", ">Ended<")
    if "Do it" in page:
        client.act("answer", question=question_of(page), answer="yes")
    return client.until(task, ">Failed<", ">Ended<")


CUTS = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5]


@posix
@pytest.mark.parametrize(
    "cuts",
    [pytest.param(CUTS[::4], id="some"), pytest.param(CUTS, id="all", marks=pytest.mark.full)],
)
def test_the_network_goes_in_the_middle(scene: Scene, cuts: Sequence[float]) -> None:
    """The page says so, the tree is as before; with the network back the same page installs."""
    before = scene.target.files()
    failed = 0
    with scene.page() as (client, process):
        for cut in cuts:
            scene.server.asked.clear()
            scene.server.lasts = cut
            page = answered(client, client.act("install", given="sageattention"))
            assert ("Traceback" in page, process.poll()) == (False, None), page
            assert Store.default().unfinished() == ()
            failed += ">Failed<" in page or not scene.installed()
            if not scene.installed():
                assert scene.target.files() == before, cut
            undone(scene, client)
            assert scene.target.files() == before, cut
        assert failed
        scene.server.lasts = math.inf
        answered(client, client.act("install", given="sageattention"))
        assert scene.installed()
        undone(scene, client)
        assert scene.target.files() == before


@posix
@pytest.mark.parametrize(
    "stride", [pytest.param(12, id="some"), pytest.param(1, id="all", marks=pytest.mark.full)]
)
def test_the_power_goes_in_the_middle(scene: Scene, stride: int) -> None:
    """The page and its children are gone at a fault point of an installation or of its undo."""
    before = scene.target.files()
    point = 1
    ended = False
    while not ended:
        with scene.page(point) as (client, process), suppress(OSError, HTTPException):
            answered(client, client.act("install", given="sageattention"))
            undone(scene, client)
            ended = True
        assert ended or process.returncode == -signal.SIGKILL
        cut_off = Store.default().unfinished()
        with scene.page() as (client, _):
            page = client.until("", "Prove it")
            assert bool(re.search("<strong>(cut off|half undone)", page)) == bool(cut_off), point
            undone(scene, client)
        assert Store.default().unfinished() == ()
        assert scene.target.files() == before, point
        point += stride
    assert point > 20
