from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosts import fake_host
from trees import plant, write

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
    full = {name: str(tmp_path / value) for name, value in (env or {}).items()}
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


def test_a_variable_that_names_no_environment_is_passed_over(tmp_path: Path) -> None:
    own = python(tmp_path, "own")
    assert choose(tmp_path, {"VIRTUAL_ENV": "gone"}).executable == own


def test_a_folder_may_be_named(tmp_path: Path) -> None:
    inside = python(tmp_path, "venv/Scripts")
    assert choose(tmp_path, named=str(tmp_path / "venv")).executable == inside
    plant(tmp_path, "empty/x")
    with pytest.raises(TargetError, match="is a folder without a Python in it"):
        choose(tmp_path, named=str(tmp_path / "empty"))


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
    ("app", "message"), [("gone", "is not a folder"), ("deep", "no Python in or beside")]
)
def test_an_application_without_a_python(tmp_path: Path, app: str, message: str) -> None:
    with pytest.raises(TargetError, match=message) as error:
        choose(tmp_path, app=app)
    assert "--app" in error.value.help


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


def test_store_aliases_are_passed_over(tmp_path: Path) -> None:
    alias, real = "Microsoft/WindowsApps", python(tmp_path, "real")
    python(tmp_path, alias)
    path = f"{alias};{tmp_path / 'real'}"
    assert choose(tmp_path, {"PATH": path}).executable == real


def test_nothing_at_all(tmp_path: Path) -> None:
    host = fake_host(write(tmp_path, {}), windows=True)
    with pytest.raises(TargetError, match="no Python to examine was found"):
        find_target(host, own_executable="", own_prefix=str(tmp_path))
