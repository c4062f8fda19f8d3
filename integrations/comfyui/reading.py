"""The machine as tritonwin sees it, which lies in this folder and runs in a process of its own.

All that it is asked about is a snapshot, from which user names, host names and secrets are gone:
ComfyUI may listen to a whole network. Valid on Python 3.9.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIMIT = 120.0  # seconds for one call
_FILES = ("tritonwin.bat", "tritonwin.pyz")  # either is the whole of tritonwin
_SNAPSHOT = "report.json"
# of Windows: no window, and after whatever ComfyUI itself does
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)


class CannotReadError(Exception):
    """tritonwin is not here, or did not answer. The message says what to do."""


def file() -> Path:
    """The single file of tritonwin.

    Raises:
        CannotReadError: there is none.
    """
    for name in _FILES:
        if (HERE / name).is_file():
            return HERE / name
    raise CannotReadError(f"{_FILES[0]} is missing. Put it into {HERE.parent.name}/{HERE.name}.")


class Reading:
    """A look at the machine, and what is derived from it. Any thread may call; one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot = b""
        self.doctor: dict[str, Any] = {}
        self.versions: dict[str, str] = {}

    def look(self, *, again: bool = True) -> None:
        """Read the machine; with `again` false only where that was not done yet."""
        with self._lock:
            if again or not self._snapshot:
                self._look()

    def explain(self, log: str) -> dict[str, Any]:
        """The document of `tritonwin explain` on a log.

        The machine is asked only where the log alone names a problem, and what the log shows comes
        first. Else the machine's own problems would stand for an error that is none of theirs.
        """
        self.look(again=False)
        with self._lock, self._folder() as folder:
            explained: dict[str, Any] = {}
            for words in ((), ("--snapshot", _SNAPSHOT)):
                explained = json.loads(_call(folder, "explain", "-", "--json", *words, text=log))
                if not explained["problems"]:
                    return explained
        shown = [p for p in explained["problems"] if _of_log(p)]
        behind = [p for p in explained["problems"] if p["explains"] and p not in shown]
        return {**explained, "problems": shown + behind}

    def issue(self, log: str) -> str:
        """The text of a bug report, with the log in it."""
        self.look(again=False)
        with self._lock, self._folder() as folder:
            words = ["doctor", "--snapshot", _SNAPSHOT, "--markdown"]
            if log:
                (folder / "comfyui.log").write_text(log, encoding="utf-8", errors="replace")
                words += ["--log", "comfyui.log"]
            return _call(folder, *words)

    def _look(self) -> None:
        with self._folder() as folder:
            _call(folder, "snapshot", "--python", sys.executable, "-o", _SNAPSHOT)
            self._snapshot = (folder / _SNAPSHOT).read_bytes()
            self.doctor = json.loads(_call(folder, "doctor", "--snapshot", _SNAPSHOT, "--json"))
        found = json.loads(self._snapshot)["facts"]["distributions"]
        self.versions = {each["name"]: each["version"] for each in found[::-1]}

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="tritonwin-") as name:
            if self._snapshot:
                Path(name, _SNAPSHOT).write_bytes(self._snapshot)
            yield Path(name)


def _of_log(problem: dict[str, Any]) -> bool:
    return any(each["where"].startswith("line ") for each in problem["evidence"])


def _call(folder: Path, *words: str, text: str = "") -> str:
    """The output of tritonwin, which ComfyUI's own Python runs in `folder`.

    Raises:
        CannotReadError: it failed, or took too long.
    """
    if not Path(sys.executable or "").stem.lower().startswith("python"):
        raise CannotReadError(f"this is no Python that could run {file()}: {sys.executable}")
    # isolated: neither variables nor the packages of a user change what it imports
    command = [sys.executable, "-I", "-X", "utf8", str(file()), *words]
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=LIMIT,
            cwd=folder,
            check=False,
            creationflags=_FLAGS,
        )
    except subprocess.TimeoutExpired:
        raise CannotReadError(f"tritonwin {words[0]} took longer than {LIMIT:.0f} s") from None
    # 1 with an answer: something is wrong with this machine
    if done.returncode != 0 and not (done.returncode == 1 and done.stdout):
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise CannotReadError(f"tritonwin {words[0]}: {said[-500:] or done.returncode}")
    return done.stdout.decode("utf-8", "replace")
