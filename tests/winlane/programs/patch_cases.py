"""The patch on real Windows: a Triton that is in use, read-only files, kills.

    python patch_cases.py CASE SOURCES FOLDER [POINT]

SOURCES is a package folder of Triton that is only read. Prints one JSON object. The cases hold,
apply and revert are what other cases start.
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
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trees import describe_tree

from tritonwin.journal import Store, faults
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.rules import FILES
from tritonwin.patch.session import PatchSession

SOME = ("tool-variables", "temp-files", "dlfcn")


class Case:
    def __init__(self, sources: str, folder: str) -> None:
        self.words = (sources, folder)
        self.sources = Path(sources)
        self.package = Path(folder) / "Bibliothek \u7528\u6237" / "triton"
        store = Store(Path(folder) / "data" / "journal")
        self.session = PatchSession(package=self.package, owner=str(self.package), store=store)

    def make(self) -> None:
        """Windows' line ends in one file, no right to write in another, a real DLL."""
        for name in ("__init__.py", *FILES):
            path = self.package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if (self.sources / name).exists():
                path.write_bytes((self.sources / name).read_bytes())
        driver = self.package / "backends/nvidia/driver.py"
        driver.write_bytes(driver.read_bytes().replace(b"\n", b"\r\n"))
        os.chmod(self.package / "backends/nvidia/driver.c", stat.S_IREAD)
        (self.package / "_C").mkdir()
        library = next(Path(sys.base_prefix).rglob("libffi-*.dll"))
        shutil.copyfile(library, self.package / "_C/libtriton.pyd")

    def state(self) -> list[str]:
        return describe_tree(self.package)

    def needed(self) -> int:
        return len(self.session.status().of("needed", "unknown"))

    def apply(self, *rules: str) -> None:
        self.session.apply(RuleChoice(rules))

    def revert(self) -> bool:
        """True where it was refused."""
        return self.session.revert().status == "refused"

    def program(self, name: str, **variables: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-B", __file__, name, *self.words],
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @contextmanager
    def in_use(self):
        """Another process has Triton's library loaded until the block ends."""
        held = self.program("hold")
        assert held.stdout.readline().strip() == b"held"
        try:
            yield
        finally:
            held.kill()
            held.communicate()


def case_hold(case: Case) -> object:
    library = ctypes.WinDLL(str(case.package / "_C/libtriton.pyd"))
    print("held", flush=True)
    time.sleep(600)
    return bool(library)


def case_apply(case: Case) -> object:
    case.apply(*SOME)
    return len(faults.passed())


def case_revert(case: Case) -> object:
    return case.revert()


def case_in_use(case: Case) -> object:
    before = case.state()
    with case.in_use():
        case.apply()
        needed = case.needed()
        driver = case.package / "backends/nvidia/driver.py"
        data = driver.read_bytes()
        read_only = not (case.package / "backends/nvidia/driver.c").stat().st_mode & stat.S_IWRITE
        refused = case.revert()
    return {
        "needed": needed,
        "line_ends": data.count(b"\r\n") == data.count(b"\n") > 0,
        "read_only": read_only,
        "refused": refused,
        "same": case.state() == before,
    }


def case_killed(case: Case, every: str) -> object:
    """Kill the apply, and every other time the revert too, at each `every`th point."""
    before, point, kills = case.state(), 1, 0
    while True:
        done = case.program("apply", TRITONWIN_FAULT_AT=str(point))
        done.communicate()
        if done.returncode == 0:
            break
        kills += 1
        if kills % 2:
            cut = case.program("revert", TRITONWIN_FAULT_AT=str(point))
            cut.communicate()
            kills += cut.returncode != 0
        case.revert()
        if case.state() != before:
            return {"same": False, "point": point}
        point += int(every)
    case.revert()
    return {"same": case.state() == before, "kills": kills, "points": point}


def main(name: str, sources: str, folder: str, *more: str) -> None:
    case = Case(sources, folder)
    if name not in {"hold", "apply", "revert"}:
        case.make()
    print(json.dumps(globals()[f"case_{name}"](case, *more)))


if __name__ == "__main__":
    main(*sys.argv[1:])
