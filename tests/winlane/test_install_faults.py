"""Faults while Windows' Python installs: a clear line, nothing half installed, and the next run works.

Wine cannot send Ctrl-C. As Windows does it, the handler of SIGINT is called in a thread of its own.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from list_server import ListServer, Reply, list_server
from public_lists import PURE, as_toml, serve_one
from trees import describe_tree
from winlane import Environment, Lane, Machine, standins
from winlane.process import Result

from tritonwin.journal import faults

WHEEL = f"/files/{PURE}"
HOME = r"C:\tritonwin-home"
# the tool, in which Ctrl-C comes when a line does
INTERRUPTED = """
import signal, sys, threading
from tritonwin.__main__ import main
def interrupt():
    sys.stdin.readline()
    signal.raise_signal(signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
sys.exit(main())
"""


@dataclass
class Scene:
    machine: Machine
    env: Environment
    server: ListServer
    tools: tuple[list[str], dict[str, str]]
    before: list[str]

    @property
    def words(self) -> list[str]:
        return ["install", "sageattention", "--yes", "--python", self.env.python]

    def run(self, *more: str, **variables: str) -> Result:
        return self.machine.tool(*self.words, *more, cwd="C:\\", env=variables)

    def in_the_middle(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a part of the wheel has come; the server is slow until then."""
        until = time.monotonic() + 120
        while self.server.sent[WHEEL] < 2**20:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.01)

    def parts(self) -> list[int]:
        folder = self.machine.drives.linux(rf"{HOME}\downloads")
        return [part.stat().st_size for part in folder.glob("*.part")]

    def nothing_is_changed(self) -> None:
        assert describe_tree(self.env.home) == self.before

    def works(self) -> None:
        """The next run installs, without what came before if there is some, and is undone."""
        parts = self.parts()
        whole = self.server.replies[WHEEL]
        self.server.sent.clear()
        done = self.run().check()
        assert "Installed and imported" in done.stdout
        # the rest, and the parts that are read before
        assert self.server.sent[WHEEL] <= len(whole.body) - sum(parts) + 2**19
        assert self.parts() == []
        self.machine.tool("undo", "--yes", cwd="C:\\").check()
        self.nothing_is_changed()


@pytest.fixture
def scene(lane: Lane, machine: Machine, tmp_path: Path) -> Iterator[Scene]:
    with list_server() as server:
        machine.place(r"C:\lists.toml", as_toml(serve_one(server, tmp_path)))
        machine.variables.update(
            TRITONWIN_LISTS=r"C:\lists.toml", TRITONWIN_HOME=HOME, PIP_NO_INDEX="1", NO_PROXY="*"
        )
        env = machine.environment("3.12", "comfyui", ["pip"])
        machine.gpu()
        standins.cuda_torch(env, machine.fakes, "2.9.1", "13.0", triton="")
        yield Scene(machine, env, server, lane.command(), describe_tree(env.home))


def slow(scene: Scene) -> Reply:
    """Make the wheel come slowly; the reply as it was."""
    before = scene.server.replies[WHEEL]
    scene.server.replies[WHEEL] = Reply(before.body, pause=0.1)
    return before


def test_killed_during_the_download(scene: Scene) -> None:
    whole = slow(scene)
    words, variables = scene.tools
    line = subprocess.list2cmdline([*words, *scene.words])
    with scene.machine.begin(line, cwd="C:\\", env=variables) as process:
        scene.in_the_middle(process)
    scene.server.replies[WHEEL] = whole
    assert scene.parts()
    more = set(describe_tree(scene.env.home)) - set(scene.before)
    assert all(line.startswith("folder .tritonwin-") for line in more)  # until the next run
    scene.works()


@pytest.mark.full
def test_interrupted_during_the_download(scene: Scene) -> None:
    whole = slow(scene)
    words, variables = scene.tools
    line = subprocess.list2cmdline([words[0], "-c", INTERRUPTED, *scene.words])
    with scene.machine.begin(line, cwd="C:\\", env=variables, input="") as process:
        scene.in_the_middle(process)
        _, said = process.communicate(b"\n", timeout=60)
    scene.server.replies[WHEEL] = whole
    assert b"Traceback" not in said
    assert process.returncode == 130
    assert scene.parts() == []
    scene.nothing_is_changed()
    scene.works()


@pytest.mark.full
@pytest.mark.parametrize("point", [8, 20])
def test_killed_while_files_are_put_into_place(scene: Scene, point: int) -> None:
    """The change that was cut off is undone by the next run."""
    scene.run(**{faults.VARIABLE: str(point)})
    scene.works()


@pytest.mark.full
def test_a_disk_that_is_full_in_the_middle(scene: Scene, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    mounted = subprocess.run(words, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr!r}")
    try:
        done = scene.run(TRITONWIN_HOME=scene.machine.drives.windows(disk))
        assert done.returncode == 3
        # Wine's C library has the second for a write of which a part still found room
        assert "the disk is full" in done.stderr or "Errno 22" in done.stderr
        scene.nothing_is_changed()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
    scene.works()
