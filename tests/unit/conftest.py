"""Fixtures: commands, an environment with a pip of its own, a server of lists and wheels."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import healthy
import pytest
from commands import Call, Said, Shop
from list_server import ListServer, list_server
from target_env import TargetEnvironment, give_pip, make_environment, pip_folder

from tritonwin.cli import app
from tritonwin.facts import snapshot
from tritonwin.facts.redaction.identity import Identity


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command: `call("explain", "-", stdin=b"a log")`."""

    def called(*words: str | Path, stdin: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = app.run([str(word) for word in words])
        return Said(status, *capsys.readouterr())

    return called


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A snapshot of a machine without Triton."""
    file = tmp_path / "facts.json"
    snapshot.write(healthy.changed(triton=None), file, Identity())
    return file


@pytest.fixture(scope="session")
def pip_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pip that is run from outside the environment."""
    return pip_folder(tmp_path_factory.mktemp("pip"))


@pytest.fixture
def pip_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_program: Path
) -> TargetEnvironment:
    """An empty environment; nothing of this machine's configuration of pip counts."""
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return make_environment(tmp_path / "target", pip_program)


@pytest.fixture
def target_with_pip(
    pip_target: TargetEnvironment,
    pip_program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> TargetEnvironment:
    """An environment that commands install into; what tritonwin keeps is kept beside it."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    give_pip(pip_target, pip_program)
    return pip_target


@pytest.fixture
def shop(target_with_pip: TargetEnvironment, tmp_path: Path, call: Call) -> Shop:
    return Shop(target_with_pip, tmp_path / "w", call)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ListServer]:
    """A server on this machine, asked without a proxy."""
    monkeypatch.setenv("NO_PROXY", "*")
    with list_server() as served:
        yield served
