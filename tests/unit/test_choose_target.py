from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from hosts import fake_host
from trees import plant

from tritonwin.cli.app import run
from tritonwin.facts.collect import collect
from tritonwin.facts.interpreters import TargetChoice, find_target, is_tool_environment
from tritonwin.facts.target import TargetError
from tritonwin.system.host import Host

TORCH = "Lib/site-packages/torch-2.9.1.dist-info/RECORD"


def python(tmp_path: Path, folder: str, *files: str) -> str:
    plant(tmp_path / folder, "python.exe", *files)
    return str(tmp_path / folder / "python.exe")


def choose(
    tmp_path: Path,
    env: dict[str, str] | None = None,
    *,
    named: str | None = None,
    app: str | None = None,
    own: str = "own",
) -> TargetChoice:
    cwd = tmp_path / "deep" / "work"
    cwd.mkdir(parents=True, exist_ok=True)
    full = {
        name: ";".join(str(tmp_path / place) for place in value.split(";"))
        for name, value in (env or {}).items()
    }
    host = Host(**{**vars(fake_host(tmp_path, full)), "cwd": cwd})
    return find_target(
        host,
        named,
        None if app is None else tmp_path / app,
        own_executable=str(tmp_path / own / "python.exe"),
        own_prefix=str(tmp_path / own),
    )


def chosen(*args: Any, **named: Any) -> tuple[str, str]:
    choice = choose(*args, **named)
    return choice.executable, choice.chosen_by


def test_each_place_in_turn(tmp_path: Path) -> None:
    """The order, from the last resort up: each new Python wins over all before it."""
    env: dict[str, str] = {}
    own = python(tmp_path, "own")
    assert chosen(tmp_path) == (own, "running")
    on_path = python(tmp_path, "on-path")
    env["PATH"] = "on-path"
    assert chosen(tmp_path, env) == (on_path, "first-on-path")
    plant(tmp_path / "own", TORCH)
    assert choose(tmp_path, env).executable == own
    near = python(tmp_path, "deep/work/.venv")
    assert chosen(tmp_path, env) == (near, "near")
    portable = python(tmp_path, "deep/python_embeded")
    assert choose(tmp_path, env).executable == portable
    conda = python(tmp_path, "conda")
    env["CONDA_PREFIX"] = "conda"
    assert chosen(tmp_path, env) == (conda, "CONDA_PREFIX")
    active = python(tmp_path, "active")
    env["VIRTUAL_ENV"] = "active"
    assert chosen(tmp_path, env) == (active, "VIRTUAL_ENV")
    plant(tmp_path / "own", "python312._pth")
    assert chosen(tmp_path, env) == (own, "running-embedded")
    app = python(tmp_path, "app/system/python")
    assert choose(tmp_path, env, app="app").executable == app
    named = python(tmp_path, "named")
    assert chosen(tmp_path, env, app="app", named=named) == (named, "python")


@pytest.mark.parametrize("row", cases("targets.toml", "target"), ids=lambda row: row["about"])
def test_the_target_is(tmp_path: Path, row: Mapping[str, Any]) -> None:
    for folder in row.get("pythons", ()):
        python(tmp_path, folder)
    named = str(tmp_path / row["named"]) if "named" in row else None
    if "refused" in row:
        with pytest.raises(TargetError, match=row["refused"]) as error:
            choose(tmp_path, named=named, app=row.get("app"))
        assert row.get("help", "") in error.value.help
        return
    found = choose(tmp_path, row.get("env"), named=named, app=row.get("app"))
    if "finds" in row:
        assert found.executable == str(tmp_path / row["finds"] / "python.exe")
    told = {"by": found.chosen_by, "source": found.source, "planted": found.planted}
    assert {name: row.get(name, value) for name, value in told.items()} == told


def test_a_bare_name_means_path_and_never_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python(tmp_path, "deep/work")
    on_path = python(tmp_path, "on-path")
    monkeypatch.chdir(tmp_path)
    for name in ("python", "python.exe"):
        assert choose(tmp_path, {"PATH": "on-path"}, named=name).executable == on_path
    with pytest.raises(TargetError, match="no program called python on PATH"):
        choose(tmp_path, named="python")


def test_a_relative_path_is_one_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = python(tmp_path, "some")
    monkeypatch.chdir(tmp_path)
    assert choose(tmp_path, named="some/python.exe").executable == here


@pytest.mark.parametrize(
    ("prefix", "marker"),
    [
        ("AppData/Roaming/uv/tools/tritonwin", "uv-receipt.toml"),
        ("anywhere", "pipx_metadata.json"),
        ("AppData/Local/uv/cache/archive-v0/abc", None),
        ("AppData/Local/uv/cache/environments-v2/abc", None),
        ("pipx/venvs/tritonwin", None),
    ],
)
def test_our_own_environment_is_not_the_target(
    tmp_path: Path, prefix: str, marker: str | None
) -> None:
    python(tmp_path, prefix, TORCH, *([marker] if marker else []))
    assert is_tool_environment(tmp_path / prefix)
    # uvx and pipx put their own folder first on PATH
    with pytest.raises(TargetError, match="was made for tritonwin alone"):
        choose(tmp_path, {"PATH": prefix, "VIRTUAL_ENV": prefix}, own=prefix)
    other = python(tmp_path, "other")
    found = choose(tmp_path, {"PATH": "other", "VIRTUAL_ENV": prefix}, own=prefix)
    assert found.executable == other


def test_an_ordinary_environment_is_no_tool_environment(tmp_path: Path) -> None:
    assert not is_tool_environment(tmp_path / "project" / ".venv")


def test_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no Python to examine was found"):
        find_target(fake_host(tmp_path), own_executable="", own_prefix=str(tmp_path))


def planted_python(folder: Path) -> tuple[Path, Path]:
    """A `.venv` whose program says that it was started; what it would write."""
    started = folder / "started"
    program = folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{started}'\nexec '{sys.executable}' \"$@\"\n")
    program.chmod(0o755)
    (folder / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    return program, started


@pytest.mark.skipif(os.name == "nt", reason="the planted program is a script")
@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["doctor", "--json"],
        ["snapshot", "-o", "s.json"],
        ["cache", "list"],
        ["patch", "status"],
        ["driver", "status"],
        ["fix", "--dry-run"],
        ["install", "einops", "--dry-run"],
        ["verify"],
        ["run", "--", "-c", "pass"],
    ],
)
def test_a_python_of_the_current_folder_is_not_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    program, started = planted_python(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    run(words)
    assert not started.exists()
    assert f"{program} is not started" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="the planted program is a script")
def test_a_python_of_the_current_folder_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, agreed to, the Python that runs this, or that of an application which is named."""
    program, started = planted_python(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    host = Host.this_machine()
    assert find_target(host).planted
    own = find_target(host, own_executable=str(program), own_prefix=str(tmp_path / ".venv"))
    assert (own.executable, own.planted) == (str(program), False)
    for trusted in ({"python": ".venv"}, {"app": tmp_path}, {"may_start": lambda _: True}):
        facts = collect(**trusted)  # type: ignore[arg-type]
        assert facts.target is not None
        assert started.exists()
        assert facts.target.started
        started.unlink()
    facts = collect()
    assert (facts.target.executable, facts.target.started) == (str(program), False)
