"""The user's settings of pip: heeded where they say how packages are reached, and nowhere else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from target_env import TargetEnvironment, make_environment, pip_folder
from wheel_files import make_wheel

from tritonwin.remedies.plan import FileSource
from tritonwin.remedies.target_pip import stage
from tritonwin.support.pip import (
    CONSTRAINT,
    PLACES,
    Pip,
    PipError,
    configured_places,
    dry_run,
    environment,
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> TargetEnvironment:
    folder = tmp_path_factory.mktemp("environment")
    return make_environment(folder / "venv", pip_folder(folder))


@pytest.fixture
def alpha(tmp_path: Path) -> FileSource:
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(folder, "alpha-1.0-py3-none-any.whl")
    location = str(make_wheel(folder, "alpha-2.0-py3-none-any.whl"))
    return FileSource(name="alpha", version="2.0", location=location)


def set_all(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Everything that a person may have set for installations of their own, and broken things."""
    for name, value in {
        "TARGET": str(folder / "target"),
        "PREFIX": str(folder / "prefix"),
        "ROOT": str(folder / "root"),
        "PYTHON": str(folder / "no python"),
        "USER": "perhaps",
        "DRY_RUN": "1",
        "REQUIRE_HASHES": "1",
        "REQUIRE_VIRTUALENV": "1",
        "PLATFORM": "win32",
        "REQUIREMENT": str(folder / "nowhere.txt"),
        "EDITABLE": str(folder),
        "REPORT": str(folder / "report.json"),
        "UPGRADE_STRATEGY": "wrong",
        "NO_BINARY": ":all:",
        "QUIET": "3",
        "VERBOSE": "3",
        "LOG": str(folder / "log"),
        "NO_INDEX": "1",
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)


def write_settings(monkeypatch: pytest.MonkeyPatch, file: Path, *lines: str) -> None:
    file.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))


def ours(target: TargetEnvironment, alpha: FileSource) -> list[tuple[str, str]]:
    folder = Path(alpha.location).parent
    found = dry_run(target.pip, ["alpha"], options=["--no-index", f"--find-links={folder}"])
    return [(item.name, item.version) for item in found]


def test_neither_variables_nor_files_move_what_is_laid_out(
    target: TargetEnvironment, alpha: FileSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, tmp_path / "elsewhere")
    settings = ("[global]", f"target = {tmp_path / 'elsewhere'}", "quiet = 2", "user = true")
    write_settings(monkeypatch, tmp_path / "pip.ini", *settings, "require-virtualenv = true")
    assert ours(target, alpha) == [("alpha", "2.0")]
    stage(target.pip, [alpha], tmp_path / "root", lambda done, total: None)
    assert [p.name for p in (tmp_path / "root").rglob("alpha*")]
    assert not (tmp_path / "elsewhere").exists()


def test_a_constraint_is_heeded_where_versions_are_chosen(
    target: TargetEnvironment, alpha: FileSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = tmp_path / "constraints.txt"
    allowed.write_text("alpha==1.0\n")
    monkeypatch.setenv("PIP_CONSTRAINT", str(allowed))
    assert ours(target, alpha) == [("alpha", "1.0")]
    with pytest.raises(PipError) as refused:
        dry_run(target.pip, [f"alpha @ {Path(alpha.location).as_uri()}"], options=["--no-index"])
    assert f"PIP_CONSTRAINT allows ({allowed})" in refused.value.help
    stage(target.pip, [alpha], tmp_path / "root", lambda done, total: None)


def test_the_places_of_a_quiet_pip_are_known(
    target: TargetEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("[global]", "quiet = 3", "index-url = https://mirror.example.org/simple")
    write_settings(monkeypatch, tmp_path / "pip.ini", *settings)
    assert configured_places(target.pip).indexes == ("https://mirror.example.org/simple",)


@pytest.mark.parametrize("line", ["this is no ini", "[global]\nretries = many"])
def test_a_broken_configuration_is_named(
    target: TargetEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    write_settings(monkeypatch, tmp_path / "pip.ini", line)
    with pytest.raises(
        PipError, match=r"cannot read its configuration: .*(pip\.ini|many)"
    ) as error:
        configured_places(target.pip)
    assert "pip.ini" in error.value.help


def test_a_pip_that_lays_out_nothing_is_not_believed(alpha: FileSource, tmp_path: Path) -> None:
    idle = Pip((sys.executable, "-c", "pass"))
    with pytest.raises(PipError, match="did not lay alpha out"):
        stage(idle, [alpha], tmp_path / "root", lambda done, total: None)


def test_what_is_settled_does_not_count() -> None:
    mine = {"PIP_INDEX_URL": "u", "PIP_CONSTRAINT": "c", "PIP_PROXY": "p", "PATH": "x"}
    assert mine.items() <= environment(mine).items()
    settled = environment(mine, PLACES | {CONSTRAINT})
    assert not {"PIP_INDEX_URL", "PIP_CONSTRAINT"} & set(settled)
    assert (settled["PIP_PROXY"], settled["PIP_NO_INDEX"], settled["PATH"]) == ("p", "0", "x")
    assert "PYTHONPATH" not in environment({"PYTHONPATH": "ours"})


def test_the_window_is_never_too_narrow_for_an_address(
    target: TargetEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    (wide,) = configured_places(target.pip).indexes
    monkeypatch.setenv("COLUMNS", "30")
    assert configured_places(target.pip).indexes == (wide,)
    assert wide
    assert wide.startswith("https://")


def test_a_wheel_may_ask_for_more_than_a_command_line_holds(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    names = [f"part-{number}" for number in range(20)]
    for name in names:
        make_wheel(folder, f"{name.replace('-', '_')}-1-py3-none-any.whl")
    long = f"; platform_machine != '{'x' * 120_000}'"
    wanted = [f"{name} >= 1{long}" for name in names]
    found = dry_run(target.pip, wanted, options=["--no-index", f"--find-links={folder}"])
    assert sorted(item.name for item in found) == sorted(names)
