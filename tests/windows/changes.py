"""Runs inside Windows, under pytest: changes to loaded DLLs, open files and the registry, and kills.

The other processes are this file with a word: they hold a file, hold the lock, apply or restore.
TRITONWIN_SOURCES is a package folder of Triton that is only read, TRITONWIN_EVERY the distance of
the points at which a change is killed.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
import time
import winreg
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest
from trees import describe_tree

from tritonwin.journal import Journal, JournalError, RegistryValue, Store, TargetBusyError, undo
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.rules import FILES
from tritonwin.patch.session import PatchSession
from tritonwin.system.registry import WindowsRegistry

ENVIRONMENT = "HKCU\\Environment"
KEY = "HKCU\\Software\\TritonwinLane\\Below"
VALUES = {
    "text": RegistryValue(kind="REG_SZ", data="Jürgen"),
    "path": RegistryValue(kind="REG_EXPAND_SZ", data="%A%;b"),
    "number": RegistryValue(kind="REG_DWORD", data=4294967295),
}
DLL = next(Path(sys.base_prefix).rglob("libffi-*.dll"))


class Scene:
    """A target below `folder` that is changed and restored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "store")

    def words(self, word: str, *more: str) -> list[str]:
        kind = type(self).__name__
        return [sys.executable, "-B", __file__, kind, str(self.folder), word, *more]

    def killed(self, word: str, point: int) -> bool:
        """Have another process apply or restore; True if it was killed at that point."""
        env = {**os.environ, "TRITONWIN_FAULT_AT": str(point)}
        done = subprocess.run(self.words(word), env=env, stdin=subprocess.DEVNULL, check=False)
        return done.returncode != 0

    @contextmanager
    def held(self, word: str, *more: str) -> Iterator[None]:
        """Another process that holds something until the block ends."""
        with subprocess.Popen(self.words(word, *more), stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline().strip() == b"held"
            try:
                yield
            finally:
                process.kill()

    def load(self, file: str) -> None:
        ctypes.WinDLL(file)
        wait()

    def open(self, file: str) -> None:
        with Path(file).open("rb"):
            wait()


def wait() -> None:
    print("held", flush=True)
    time.sleep(600)


class Repair(Scene):
    """A repair with every operation of the journal."""

    @property
    def target(self) -> Path:
        return self.folder / "target"

    @property
    def exe(self) -> str:
        return str(self.target / "python.exe")

    def make(self) -> None:
        for name in ("triton/_C/libtriton.pyd", "triton/deep/er/x.py", "msvcp140.dll", "_pth"):
            file = self.target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(DLL, file)
        (self.target / "python.exe").write_bytes(b"exe")
        (self.target / "_pth").chmod(stat.S_IREAD)
        winreg.CreateKey(winreg.HKEY_CURRENT_USER, KEY.partition("\\")[2]).Close()

    def state(self) -> object:
        return describe_tree(self.target), values(ENVIRONMENT), values(KEY)

    def apply(self) -> None:
        with Journal.begin(self.store, target=self.exe, title="repair") as journal:
            target = self.target
            journal.delete(target / "triton")
            stage = journal.scratch(target)
            for name in ("triton/_C/libtriton.pyd", "triton/__init__.py"):
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target / "msvcp140.dll", stage / name)
            journal.place(stage / "triton", target / "triton")
            journal.write(target / "_pth", b"import site")
            journal.write(target / "msvcp140.dll", b"newer")
            journal.write(target / "Include/Python.h", b"#define")
            journal.set_value(ENVIRONMENT, "CUDA_PATH", None)
            journal.set_value(ENVIRONMENT, "CC", RegistryValue(data="tcc"))
            for name, value in VALUES.items():
                journal.set_value(KEY, name, value)

    def restore(self) -> list[str]:
        header = self.store.latest()
        if header is None:
            return []
        report = undo(self.store, header.id)
        assert report.state == "undone", report
        return list(report.left)

    def lock(self) -> None:
        with self.store.lock(self.exe):
            wait()


def values(key: str) -> list[tuple[str, str, int]]:
    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key.partition("\\")[2]) as handle:
        count = winreg.QueryInfoKey(handle)[1]
        found = (winreg.EnumValue(handle, number) for number in range(count))
        return sorted((name, repr(data), kind) for name, data, kind in found)


class Patch(Scene):
    """A package of Triton: Windows' line ends in one file, no right to write in another, a DLL."""

    rules: tuple[str, ...] = ("tool-variables", "temp-files", "dlfcn")

    @property
    def package(self) -> Path:
        return self.folder / "Bibliothek 用户" / "triton"

    @property
    def session(self) -> PatchSession:
        return PatchSession(package=self.package, owner=str(self.package), store=self.store)

    def make(self) -> None:
        sources = Path(os.environ["TRITONWIN_SOURCES"])
        for name in ("__init__.py", *FILES):
            path = self.package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if (sources / name).exists():
                path.write_bytes((sources / name).read_bytes())
        driver = self.package / "backends/nvidia/driver.py"
        driver.write_bytes(driver.read_bytes().replace(b"\n", b"\r\n"))
        (self.package / "backends/nvidia/driver.c").chmod(stat.S_IREAD)
        (self.package / "_C").mkdir()
        shutil.copyfile(DLL, self.package / "_C/libtriton.pyd")

    def state(self) -> object:
        return describe_tree(self.package)

    def apply(self) -> None:
        self.session.apply(RuleChoice(self.rules))

    def restore(self) -> None:
        self.session.revert()


@pytest.fixture
def repair(tmp_path: Path) -> Repair:
    made = Repair(tmp_path)
    made.make()
    return made


@pytest.fixture
def patch(tmp_path: Path) -> Patch:
    made = Patch(tmp_path)
    made.make()
    return made


def test_everything_changes_and_comes_back(repair: Repair) -> None:
    before = repair.state()
    repair.apply()
    assert not (repair.target / "_pth").stat().st_mode & stat.S_IWRITE
    assert {name: WindowsRegistry().stored(KEY, name) for name in VALUES} == VALUES
    assert repair.restore() == []
    assert repair.state() == before


def test_every_window_hears_of_changed_variables(repair: Repair) -> None:
    """As of those that `setx` changes."""
    heard: list[str] = []
    user32 = ctypes.WinDLL("user32")
    window_type, number = wintypes.HWND, ctypes.c_ssize_t
    kinds = (window_type, wintypes.UINT, wintypes.WPARAM, wintypes.LPARAM)
    user32.CreateWindowExW.restype = window_type
    user32.DefWindowProcW.argtypes, user32.DefWindowProcW.restype = kinds, number

    @ctypes.WINFUNCTYPE(number, *kinds)
    def hear(window: int, message: int, what: int, text: int) -> int:
        if message == 0x001A:  # WM_SETTINGCHANGE
            heard.append(ctypes.wstring_at(text))
        return int(user32.DefWindowProcW(window, message, what, text))

    window = window_type(user32.CreateWindowExW(0, "STATIC", "", *[0] * 5, *[None] * 4))
    assert window
    user32.SetWindowLongPtrW(window, -4, hear)  # its procedure
    try:
        repair.apply()
        assert heard == ["Environment"]
        assert repair.restore() == []
    finally:
        user32.DestroyWindow(window)
    assert heard == ["Environment"] * 2


def test_a_dll_that_is_loaded_is_replaced(repair: Repair) -> None:
    """The old one is loaded while it is replaced, the new one while that is undone."""
    before, library = repair.state(), str(repair.target / "triton/_C/libtriton.pyd")
    with repair.held("load", library):
        repair.apply()
        assert (repair.target / "triton/__init__.py").exists()
        with repair.held("load", library):
            (left,) = repair.restore()
            assert repair.state() == before
    repair.store.sweep()
    assert not Path(left).exists()


def test_a_file_that_is_open_stops_the_change(repair: Repair) -> None:
    """It can neither be deleted nor renamed."""
    before = repair.state()
    with repair.held("open", str(repair.target / "msvcp140.dll")):
        with pytest.raises(JournalError, match=r"msvcp140\.dll") as refused:
            repair.apply()
        assert refused.value.help.startswith("Close the programs that use it")
        assert repair.state() == before
    assert [header.state for header in repair.store.journals()] == ["undone"]


def test_two_at_once(repair: Repair) -> None:
    with (
        repair.held("lock"),
        pytest.raises(TargetBusyError, match=r"^another tritonwin is at work"),
        repair.store.lock(repair.exe),
    ):
        pass
    with repair.store.lock(repair.exe, 5):
        pass


def test_a_triton_that_is_in_use_is_patched(patch: Patch) -> None:
    before, nvidia = patch.state(), patch.package / "backends/nvidia"
    patch.rules = ()
    with patch.held("load", str(patch.package / "_C/libtriton.pyd")):
        patch.apply()
        assert patch.session.status().of("needed", "unknown") == ()
        data = (nvidia / "driver.py").read_bytes()
        assert data.count(b"\r\n") == data.count(b"\n") > 0
        assert not (nvidia / "driver.c").stat().st_mode & stat.S_IWRITE
        assert patch.session.revert().status != "refused"
    assert patch.state() == before


@pytest.mark.parametrize("kind", [Repair, Patch])
def test_killed_at_any_point(tmp_path: Path, kind: type[Repair | Patch]) -> None:
    """The change, and every other time its undo too."""
    scene = kind(tmp_path)
    scene.make()
    before, point, kills = scene.state(), 1, 0
    while scene.killed("apply", point):
        kills += 1
        if kills % 2:
            kills += scene.killed("restore", point)
        scene.restore()
        assert scene.state() == before, f"killed at point {point}"
        point += int(os.environ["TRITONWIN_EVERY"])
    scene.restore()
    assert scene.state() == before
    assert kills >= 3


if __name__ == "__main__":
    place, folder, word = sys.argv[1:4]
    getattr(globals()[place](Path(folder)), word)(*sys.argv[4:])
