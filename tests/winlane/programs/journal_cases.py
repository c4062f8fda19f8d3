"""The journal on real Windows: each case changes a made-up target and gives it back.

    python journal_cases.py CASE FOLDER [ARGUMENT]

Prints one JSON object. The cases hold, lock, apply and undo are what other cases start.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import winreg
from contextlib import contextmanager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trees import describe_tree

from tritonwin.journal import (
    Journal,
    JournalError,
    RegistryValue,
    Store,
    TargetBusyError,
    faults,
    undo,
)
from tritonwin.journal.registry import WindowsWriter
from tritonwin.system.codec import to_json

ENVIRONMENT = "HKCU\\Environment"
NEW_KEY = "HKCU\\Software\\TritonwinLane\\Below"
VALUES = {
    "text": RegistryValue(kind="REG_SZ", data="J\u00fcrgen"),
    "path": RegistryValue(kind="REG_EXPAND_SZ", data="%A%;b"),
    "number": RegistryValue(kind="REG_DWORD", data=4294967295),
}


class Place:
    def __init__(self, folder: str) -> None:
        self.target = Path(folder) / "target"
        self.exe = str(self.target / "python.exe")
        self.store = Store(Path(folder) / "store")

    def make(self) -> None:
        library = next(Path(sys.base_prefix).rglob("libffi-*.dll"))
        for name in ("triton/_C/libtriton.pyd", "triton/deep/er/x.py", "msvcp140.dll", "_pth"):
            file = self.target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(library, file)
        (self.target / "python.exe").write_bytes(b"exe")
        (self.target / "_pth").chmod(stat.S_IREAD)

    def state(self) -> object:
        return describe_tree(self.target), registry_dump()

    def apply(self) -> None:
        """A repair with every operation of the journal."""
        with Journal.begin(self.store, target=self.exe, title="repair") as journal:
            t = self.target
            journal.delete(t / "triton")
            stage = journal.scratch(t)
            for name in ("triton/_C/libtriton.pyd", "triton/__init__.py"):
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(t / "msvcp140.dll", stage / name)
            journal.place(stage / "triton", t / "triton")
            journal.write(t / "_pth", b"import site")
            journal.write(t / "msvcp140.dll", b"newer")
            journal.write(t / "Include/Python.h", b"#define")
            journal.set_value(ENVIRONMENT, "CUDA_PATH", None)
            journal.set_value(ENVIRONMENT, "CC", RegistryValue(data="tcc"))
            for name, value in VALUES.items():
                journal.set_value(NEW_KEY, name, value)

    def undo(self) -> list[str]:
        header = self.store.latest()
        report = undo(self.store, header.id)
        assert report.state == "undone", report
        return list(report.left)

    def program(self, case: str, *more: str, **variables: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, __file__, case, str(self.target.parent), *more]
        env = {**os.environ, **variables}
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    @contextmanager
    def holder(self, how: str, file: Path):
        """Another process that has the file loaded, or open, until the block ends."""
        held = self.program("hold", how, str(file))
        assert held.stdout.readline().strip() == b"held"
        try:
            yield
        finally:
            held.kill()
            held.wait()
            held.stdin.close()
            held.stdout.close()


def registry_dump() -> object:
    return {key: key_dump(key.partition("\\")[2]) for key in (ENVIRONMENT, NEW_KEY)}


def key_dump(path: str) -> object:
    try:
        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as handle:
            count = winreg.QueryInfoKey(handle)[1]
            values = sorted(winreg.EnumValue(handle, i) for i in range(count))
    except FileNotFoundError:
        return []
    return [[name, repr(data), kind] for name, data, kind in values]


def case_hold(place: Place, how: str, file: str) -> object:
    with nullcontext(ctypes.WinDLL(file)) if how == "loaded" else open(file, "rb"):
        print("held", flush=True)
        time.sleep(600)


def case_lock(place: Place) -> object:
    with place.store.lock(place.exe):
        print("held", flush=True)
        time.sleep(600)
    return None


def case_apply(place: Place) -> object:
    place.apply()
    return list(faults.passed())


def case_round_trip(place: Place) -> object:
    before = place.state()
    place.apply()
    read_only = not os.stat(place.target / "_pth").st_mode & stat.S_IWRITE
    stored = {n: to_json(WindowsWriter().value(NEW_KEY, n)) for n in VALUES}
    changed = place.state() != before
    left = place.undo()
    return {
        "changed": changed,
        "read_only": read_only,
        "values": stored == {n: to_json(v) for n, v in VALUES.items()},
        "left": left,
        "same": place.state() == before,
    }


def case_loaded(place: Place) -> object:
    """The old DLL is loaded while it is replaced, the new one while that is undone."""
    before = place.state()
    with place.holder("loaded", place.target / "triton/_C/libtriton.pyd"):
        place.apply()
        replaced = (place.target / "triton/__init__.py").exists()
        with place.holder("loaded", place.target / "triton/_C/libtriton.pyd"):
            left = place.undo()
            same = place.state() == before
    place.store.sweep()
    return {
        "replaced": replaced,
        "left": len(left),
        "same": same,
        "swept": not any(Path(folder).exists() for folder in left),
    }


def case_in_use(place: Place) -> object:
    """A file that a program has open can neither be deleted nor renamed."""
    before = place.state()
    with place.holder("open", place.target / "msvcp140.dll"):
        try:
            place.apply()
            said = ["", ""]
        except JournalError as error:
            said = [str(error), error.help]
        same = place.state() == before
    return {"said": said, "same": same, "states": [h.state for h in place.store.journals()]}


def case_two_at_once(place: Place) -> object:
    other = place.program("lock")
    other.stdout.readline()
    try:
        with place.store.lock(place.exe):
            said = ""
    except TargetBusyError as error:
        said = str(error)
    named = f"process {other.pid}" in said
    other.kill()
    other.wait()
    with place.store.lock(place.exe, 5):
        return {"said": said, "named": named}


def case_killed(place: Place, every: str) -> object:
    """Kill the apply, and every other time its undo too, at each `every`th point."""
    before, point, kills, points = place.state(), 1, 0, []
    while True:
        done = place.program("apply", TRITONWIN_FAULT_AT=str(point))
        out, _ = done.communicate()
        if done.returncode == 0:
            points = json.loads(out)
            break
        kills += 1
        if place.store.latest():
            if kills % 2:
                cut = place.program("undo", TRITONWIN_FAULT_AT=str(point))
                cut.communicate()
                kills += cut.returncode != 0
            if place.store.latest():
                place.undo()
        assert place.state() == before, f"killed at point {point}"
        point += int(every)
    place.undo()
    return {"kills": kills, "points": len(points), "same": place.state() == before}


def case_undo(place: Place) -> object:
    place.undo()
    return None


def main(case: str, folder: str, *more: str) -> None:
    """`all` are the cases that need no argument, each in a folder of its own."""
    if case == "all":
        cases = ("round_trip", "loaded", "in_use", "two_at_once")
        print(json.dumps({name: answer(name, f"{folder}-{name}") for name in cases}))
    else:
        print(json.dumps(answer(case, folder, *more)))


def answer(case: str, folder: str, *more: str) -> object:
    place = Place(folder)
    if case not in {"hold", "lock", "apply", "undo"}:
        place.make()
    return globals()[f"case_{case}"](place, *more)


if __name__ == "__main__":
    main(*sys.argv[1:])
