"""Every command in every console: text that can be read, no escape, the command's own exit status."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import healthy
import pytest
from cases import cases
from pe_files import pe_file

from tritonwin.cli import app
from tritonwin.facts import snapshot
from tritonwin.facts.redaction.identity import Identity

ENCODINGS = ("cp437", "cp936", "cp1252", "ascii", "utf-8")
NAME = "Jürgen 用户 Имя"  # no code page above but UTF-8 has all of it

TREE = set("\u2500\u2502\u2514\u251c")  # the lines of a tree, where the console has them

CASES: tuple[tuple[str, int, str], ...] = (
    *cases("command_lines.toml", "consoles"),
    *((f"{command} --help", 0, "Usage: tritonwin") for command in app.COMMANDS),
)


@dataclass(frozen=True)
class Said:
    status: int
    out: bytes
    err: bytes


class Console:
    """A run of the command line with streams as Python opens them for a console or a pipe."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.files = {
            "facts": folder / "facts.json",
            "log": folder / "log.txt",
            "dll": folder / "x.dll",
            "triton": folder / "triton",
            "gone": folder / "gone",
            "empty": folder / "empty.txt",
            "out": folder / "report.html",
        }
        self._patch = patch

    @property
    def plain(self) -> bool:
        """Nothing foreign is in what the commands are given."""
        return str(self.files["gone"]).isascii()

    def run(self, line: str, encoding: str) -> Said:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        status = self._status(line, *streams)
        out, err = (self._written(stream) for stream in streams)
        return Said(status, out, err)

    def without_output(self, line: str) -> int:
        """The state in which `pythonw` starts it, or a shell with `>&-`."""
        return self._status(line, None, None)

    def _status(self, line: str, out: Any, err: Any) -> int:
        with self._patch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            return app.run([word.format(**self.files) for word in line.split()])

    @staticmethod
    def _written(stream: io.TextIOWrapper) -> bytes:
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        return stream.buffer.getvalue()


@pytest.fixture(scope="module", params=["plain", NAME], ids=["plain", "foreign"])
def console(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console") / str(request.param).replace(" ", "_")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITONWIN_HOME", str(folder / "home"))
        for wish in ("NO_COLOR", "FORCE_COLOR"):  # the first one wins
            patch.setenv(wish, "1")
        patch.delenv("TRITONWIN_DEBUG", raising=False)
        patch.chdir(_made(folder, str(request.param)))
        yield Console(folder, patch)


def _made(folder: Path, name: str) -> Path:
    for file in ("__init__.py", "runtime/build.py"):
        (folder / "triton" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "triton" / file).touch()
    (folder / "empty.txt").touch()
    (folder / "x.dll").write_bytes(pe_file("nowhere.dll"))
    log = f"C:\\{name}\\main.c:1: error: include file 'Python.h' not found\n{name}\n"
    (folder / "log.txt").write_text(log, encoding="utf-8")
    target = healthy.replace(healthy.TARGET, executable=f"C:\\{name}\\python.exe")
    facts = healthy.changed(triton=None, target=target)
    snapshot.write(facts, folder / "facts.json", Identity())
    return folder


def test_every_command_is_tried_and_one_that_there_is_not() -> None:
    assert {line.split()[0] for line, _, _ in CASES} == {*app.COMMANDS, "nonsense"}


@pytest.mark.parametrize(("line", "status", "says"), CASES, ids=[c[0] for c in CASES])
def test_text_and_exit_status(console: Console, line: str, status: int, says: str) -> None:
    for encoding in ENCODINGS:
        said = console.run(line, encoding)
        out, err = said.out.decode(encoding), said.err.decode(encoding)
        assert said.status == status, err
        assert says in (err if status == 2 else out)
        assert (out, err[:7]) == ("", "error: ") if status == 2 else err == ""
        text = out + err
        assert "Traceback" not in text
        assert "\x1b" not in text
        assert "\ufffd" not in text
        if console.plain:
            assert {c for c in text if not c.isascii()} <= TREE
            assert not re.search(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", text)
        if line.endswith("--json"):
            json.loads(out)


QUIET = [case[:2] for case in CASES if "--help" not in case[0]]


@pytest.mark.parametrize(("line", "status"), QUIET, ids=[case[0] for case in QUIET])
def test_no_output_at_all(console: Console, line: str, status: int) -> None:
    assert console.without_output(line) == status
