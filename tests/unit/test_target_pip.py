"""The pip that runs in a target: its own, or one that is lent to it from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import healthy
import pytest
from pace import wait_for
from target_env import TargetEnvironment, give_pip
from trees import plant, write
from wheel_files import make_wheel

from tritonwin.facts.records import Facts
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support.pip import PipError, dry_run


def having(version: str | None, *, importable: bool = True) -> Facts:
    """A Python in which pip is installed, or not."""
    installed = (healthy.dist("pip", version),) if version else ()
    return healthy.changed(
        target=replace(healthy.TARGET, has_pip=importable),
        distributions=(*healthy.HEALTHY.distributions, *installed),
    )


@pytest.fixture
def without_pip_of_ours(monkeypatch: pytest.MonkeyPatch) -> dict[str, Sequence[str]]:
    """tritonwin in an environment without pip and ensurepip; folders of packages can be put in."""
    packages: dict[str, Sequence[str]] = {}

    def find_spec(name: str) -> Any:
        places = packages.get(name)
        return SimpleNamespace(submodule_search_locations=places) if name in packages else None

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    return packages


def lend(folder: Path, *versions: str) -> str:
    return str(plant(folder, *(f"pip-{version}-py3-none-any.whl" for version in versions)))


def test_the_targets_own_pip_comes_first(tmp_path: Path) -> None:
    found = find_pip(having("25.1"), [lend(tmp_path, "26.0")])
    assert found.command[:3] == (healthy.TARGET.executable, "-B", "-c")
    assert len(found.command) == 4
    assert found.version == "25.1"


@pytest.mark.parametrize(
    "facts", [having("22.1.2"), having(None), having("25.1", importable=False)]
)
def test_ours_is_lent_where_the_target_has_none_that_serves(facts: Facts) -> None:
    found = find_pip(facts, ())
    assert found.command[:3] == (healthy.TARGET.executable, "-B", "-c")
    assert (Path(found.command[-1]) / "pip" / "__init__.py").is_file()
    assert found.version == metadata.version("pip")


def test_a_pip_that_lacks_a_module_is_not_asked(tmp_path: Path) -> None:
    info = tmp_path / "pip-25.1.dist-info"
    plant(tmp_path, "pip/__init__.py", "pip/_internal/__init__.py", "pip-25.1.dist-info/METADATA")
    record = "pip/__init__.py,,\npip/_internal/__init__.py,,\n../../Scripts/pip.exe,,\n"
    (info / "RECORD").write_text(record)
    facts = having("25.1")
    mine = replace(facts.distributions[-1], location=str(info))
    facts = replace(facts, distributions=(*facts.distributions[:-1], mine))
    assert find_pip(facts, ()).version == "25.1"
    (tmp_path / "pip" / "_internal" / "__init__.py").unlink()
    assert find_pip(facts, ()).version == metadata.version("pip")


@pytest.mark.parametrize("own", [True, False])
def test_nothing_of_the_current_folder_is_run(
    pip_target: TargetEnvironment,
    pip_program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: bool,
) -> None:
    """Neither a module called pip, nor one called like a module of Python's own."""
    if own:
        give_pip(pip_target, pip_program)
    for name in ("pip", "logging", "platform", "optparse", "runpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    executable = str(pip_target.python)
    target = replace(healthy.TARGET, executable=executable, has_pip=own, base_prefix=None)
    installed = (healthy.dist("pip", "25.1"),) if own else ()
    found = find_pip(healthy.changed(target=target, distributions=installed), ())
    # with --python, as for the environment of a build, pip starts itself in that Python
    for arguments in (["--version"], ["--python", executable, "--version"]):
        done = found.run(arguments, timeout=120)
        assert done.code == 0, done.err
        assert done.out.startswith(b"pip ")


_BACKEND = """\
from pathlib import Path
Path(__file__).with_name("ran").touch()
"""


def test_pip_builds_nothing(
    pip_target: TargetEnvironment, pip_program: Path, tmp_path: Path
) -> None:
    """Pip builds a requirement that is an address, --only-binary or not."""
    give_pip(pip_target, pip_program)
    system = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"backend.py": _BACKEND, "pyproject.toml": f"[build-system]\n{system}"}
    evil = write(tmp_path / "evil", files)
    make_wheel(tmp_path / "w", "kind-1.0-py3-none-any.whl", [f"evil @ {evil.as_uri()}"])
    target = replace(healthy.TARGET, executable=str(pip_target.python), base_prefix=None)
    pip = find_pip(healthy.changed(target=target, distributions=(healthy.dist("pip", "25.1"),)), ())
    options = ["--no-index", f"--find-links={tmp_path / 'w'}"]
    with pytest.raises(PipError, match="only wheels are taken"):
        dry_run(pip, ["kind"], options=options)
    assert not (evil / "ran").exists()


@pytest.mark.usefixtures("without_pip_of_ours")
def test_the_newest_wheel_of_a_folder_that_the_user_named_is_lent(tmp_path: Path) -> None:
    folder = lend(tmp_path / "wheels", "22.1", "24.0", "25.3")
    plant(tmp_path / "wheels", "pipdeptree-2.0-py3-none-any.whl", "pip-26.0.tar.gz")
    found = find_pip(having(None), ["https://example.org/simple", folder])
    assert found.command[-1] == str(tmp_path / "wheels" / "pip-25.3-py3-none-any.whl")
    assert found.version == "25.3"


def test_the_wheel_that_python_bundles_is_lent(
    tmp_path: Path, without_pip_of_ours: dict[str, Sequence[str]]
) -> None:
    lend(tmp_path / "ensurepip" / "_bundled", "24.0")
    without_pip_of_ours["ensurepip"] = [str(tmp_path / "ensurepip")]
    assert find_pip(having(None), ()).version == "24.0"


@pytest.mark.usefixtures("without_pip_of_ours")
def test_without_any_pip_the_user_is_told_how_to_lend_one(tmp_path: Path) -> None:
    facts = having("9.0.1")
    with pytest.raises(CannotRemedyError, match=r"no whole pip of 22\.2 or later") as refused:
        find_pip(facts, [lend(tmp_path / "old", "21.0")])
    assert "--find-links DIR" in refused.value.help


def test_no_target_is_said() -> None:
    with pytest.raises(CannotRemedyError, match="no target"):
        find_pip(healthy.changed(target=None), ())


PIP_THAT_WRITES_ON = """
import pathlib, time

def main():
    place = pathlib.Path({place!r})
    for number in range(10_000):
        place.mkdir(exist_ok=True)
        (place / "laid out").write_text(str(number))
        time.sleep(0.02)
"""


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for a target is a script")
def test_pip_ends_with_a_tritonwin_that_is_killed(tmp_path: Path) -> None:
    """Otherwise it would write on in the folder that the next command takes away."""
    place = tmp_path / "staging"
    packages = ("pip", "pip/_internal", "pip/_internal/cli")
    lent = write(tmp_path / "lent", dict.fromkeys((f"{p}/__init__.py" for p in packages), ""))
    write(lent, {"pip/_internal/cli/main.py": PIP_THAT_WRITES_ON.format(place=str(place))})
    program = (
        "import sys; from tritonwin.remedies import target_pip; from tritonwin.support.pip import Pip;"
        "Pip((sys.executable, '-B', '-c', target_pip._BORROW, sys.argv[1])).run([], timeout=100)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(lent)]) as killed:
        wait_for(lambda: (place / "laid out").exists())
        killed.kill()
    wait_for(lambda: _still(place))
    shutil.rmtree(place)
    time.sleep(0.2)
    assert not place.exists()


def _still(place: Path) -> bool:
    before = (place / "laid out").read_text()
    time.sleep(0.2)
    return (place / "laid out").read_text() == before
