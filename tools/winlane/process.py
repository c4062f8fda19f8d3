"""Start one Windows program: chosen environment, separate pipes, a time limit that really kills."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from winlane.errors import LaneError, TimedOut
from winlane.windows_paths import Drives
from winlane.wine import Wine


class Options(TypedDict, total=False):
    """Options of a start; `env` is merged over the session's, None removes a name.

    `cwd` is a Linux Path or Windows text, `timeout` seconds (300 unless given), `input` goes to
    the program's standard input, which is empty otherwise.
    """

    env: Mapping[str, str | None]
    cwd: str | Path
    timeout: float
    input: str | bytes


@dataclass(frozen=True)
class Result:
    """`returncode` is Windows' own 32-bit status: 0xC0000005 stays 3221225477."""

    returncode: int
    stdout: str
    stderr: str

    def check(self) -> Result:
        if self.returncode:
            streams = f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
            raise LaneError(f"ended with {self.returncode:#x}\n{streams}")
        return self


def merged(*layers: Mapping[str, str | None] | None) -> dict[str, str]:
    """Later layers win; names compare as Windows does; None takes a variable away."""
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, value in (layer or {}).items():
            found.pop(name.upper(), None)
            if value is not None:
                found[name.upper()] = (name, value)
    return dict(found.values())


def home_variables(profile: str, user: str) -> dict[str, str]:
    """The variables that Windows derives from the user's folder."""
    local = rf"{profile}\AppData\Local"
    return {
        "APPDATA": rf"{profile}\AppData\Roaming",
        "HOMEDRIVE": profile[:2],
        "HOMEPATH": profile[2:],
        "LOCALAPPDATA": local,
        "TEMP": rf"{local}\Temp",
        "TMP": rf"{local}\Temp",
        "USERNAME": user,
        "USERPROFILE": profile,
    }


@dataclass(frozen=True)
class Session:
    """A Windows that programs are started in; `prefix` is Wine's folder."""

    wine: Wine
    prefix: Path
    drives: Drives
    variables: Mapping[str, str]

    def run(self, command: str, options: Options) -> Result:
        """Run a Windows command line."""
        sent = options.get("input")
        data = sent.encode("utf-8") if isinstance(sent, str) else sent
        with self.begun(command, options) as (process, status):
            out, err = _communicate(process, data, options.get("timeout", 300), command)
            try:
                code = int(status.read_text())
            except FileNotFoundError:
                raise LaneError(f"{command} did not start: {_text(out + err).strip()}") from None
        return Result(code, _text(out), _text(err))

    @contextlib.contextmanager
    def begun(
        self, command: str, options: Options
    ) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """The program while it runs, killed with the block; the file that will hold its status."""
        variables = merged(self.variables, options.get("env"))
        folder = options.get("cwd") or r"C:\lane"
        cwd = folder if isinstance(folder, str) else self.drives.windows(folder)
        sent = options.get("input")
        with tempfile.TemporaryDirectory(prefix="winlane-", dir=self.prefix / "requests") as made:
            request = Path(made) / "request"
            block = [f"{name}={variables[name]}" for name in sorted(variables, key=str.upper)]
            request.write_bytes("\0".join([cwd, command, *block, "", ""]).encode("utf-16-le"))
            process = subprocess.Popen(
                [self.wine.loader, r"C:\lane\launch.exe", self.drives.windows(request)],
                env=self.wine.unix_environment(self.prefix),
                stdin=subprocess.DEVNULL if sent is None else subprocess.PIPE,
                # python.exe dies at start when its stdout is a regular file: always pipes
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            with process:
                try:
                    yield process, Path(f"{request}.rc")
                finally:
                    if process.poll() is None:  # what it left behind is its own affair
                        _kill(process)


def _communicate(
    process: subprocess.Popen[bytes], data: bytes | None, timeout: float, command: str
) -> tuple[bytes, bytes]:
    try:
        return process.communicate(data, timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, err = b"", b""
        # a grandchild outside the group may hold the pipes; the job of launch.exe ends it shortly
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=10)
        raise TimedOut(command, timeout, _text(out), _text(err)) from None
    except BaseException:
        _kill(process)
        raise


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _text(data: bytes) -> str:
    """Windows programs write UTF-8 or, into a pipe, the ANSI code page (1252 here)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return text.replace("\r\n", "\n")
