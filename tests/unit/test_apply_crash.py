"""A kill at any point of a whole plan: the target is as before, as planned, or `undo` makes it so."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import healthy
import pytest
from killing import CAN_FORK, MEMORY, FileRegistry, Scene
from target_env import TargetEnvironment, make_environment
from trees import write
from wheel_files import make_wheel

from tritonwin.errors import UserError
from tritonwin.journal import Journal, RegistryValue, faults
from tritonwin.remedies import apply as applying
from tritonwin.remedies import target_pip
from tritonwin.remedies.apply import apply_plan
from tritonwin.remedies.plan import (
    ClearCache,
    CopyHeaders,
    EnableSite,
    FileSource,
    InstallWheels,
    Plan,
    RenameShadow,
    SetVariable,
)
from tritonwin.support.pip import Pip

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="the lane kills processes inside Windows")

USER = r"HKCU\Environment"
HEADERS = {
    "Include/Python.h": '#include "patchlevel.h"\n#include "pyconfig.h"\n',
    "Include/patchlevel.h": '#define PY_VERSION "3.12.9"\n',
    "Include/pyconfig.h": "/* */\n",
    "libs/python312.lib": "!<arch>\n",
}


@dataclass(frozen=True)
class Faulty(Scene):
    """A target with an old distribution and other faults, and a plan that solves them all."""

    environment: TargetEnvironment
    plan: Plan

    def apply(self) -> None:
        target = replace(
            healthy.TARGET,
            executable=str(self.environment.python),
            prefix=str(self.root / "env"),
            site_packages=(str(self.environment.site_packages),),
        )
        apply_plan(self.plan, target, self.store, lambda: self.environment.pip)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, pip_program: Path) -> Iterator[Faulty]:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(folder).resolve()
        environment = make_environment(root / "env", pip_program)
        environment.install("alpha-1.0-py3-none-any.whl")
        environment.install("gamma-1.0-py3-none-any.whl")
        write(
            root,
            {
                "env/python._pth": b".\n#import site\n",
                "env/Include/Python.h": b"of another minor",
                "full/keep": b"",
                "work/triton.py": b"x",
                "cache/ab/cuda_utils.pyd": b"stale",
            },
        )
        write(root, {f"full/{name}": text.encode() for name, text in HEADERS.items()})
        registry = FileRegistry(root / "registry.json")
        registry._write({USER: {"CC": RegistryValue(data="C:\\gone")}})
        real = Journal.begin
        monkeypatch.setattr(
            applying.Journal,
            "begin",
            lambda store, **options: real(store, registry=registry, **options),
        )
        folders = tuple(root / name for name in ("env", "work", "cache"))
        yield Faulty(root, folders, environment, _plan(root, environment))


def _plan(root: Path, environment: TargetEnvironment) -> Plan:
    site = environment.site_packages
    files = ("alpha-2.0-py3-none-any.whl", "beta-1.0-py3-none-any.whl")
    wheels = tuple(
        FileSource(
            name=file.split("-")[0],
            version=file.split("-")[1],
            location=str(make_wheel(root, file)),
        )
        for file in files
    )

    gone = tuple(str(site / f"{name}-1.0.dist-info") for name in ("alpha", "gamma"))
    headers = FileSource(name="headers", version="3.12.9", location=str(root / "full"))
    return Plan(
        target=str(environment.python),
        changes=(
            SetVariable(variable="CC", value=None, scopes=("user",), what="unset"),
            RenameShadow(
                path=str(root / "work/triton.py"),
                new=str(root / "work/triton-renamed.py"),
                what="rename",
            ),
            InstallWheels(sources=wheels, removes=gone, what="install"),
            EnableSite(path=str(root / "env/python._pth"), what="site"),
            CopyHeaders(folder=str(root / "env"), sources=(headers,), what="headers"),
            ClearCache(path=str(root / "cache"), removes=(str(root / "cache/ab"),), what="clear"),
        ),
    )


def laid_out(scene: Faulty) -> Callable[[Pip, Sequence[FileSource], Path, object], None]:
    """The files that pip lays out, from a copy: pip itself takes a second, and there are many points."""
    copy = scene.root / "laid-out"
    copy.mkdir()
    wheels = [s for c in scene.plan.changes if isinstance(c, InstallWheels) for s in c.sources]
    target_pip.stage(scene.environment.pip, wheels, copy, lambda done, total: None)

    def stage(pip: Pip, wheels: Sequence[FileSource], root: Path, progress: object) -> None:
        faults.faultpoint("before pip")
        shutil.copytree(copy, root, dirs_exist_ok=True)
        faults.faultpoint("after pip")

    return stage


def test_a_plan_is_applied_by_real_pip_and_undone(scene: Faulty) -> None:
    before = scene.state()
    scene.apply()
    site = scene.environment.site_packages
    assert sorted(p.name for p in site.glob("*.dist-info")) == [
        "alpha-2.0.dist-info",
        "beta-1.0.dist-info",
    ]
    assert "2.0" in (site / "alpha/__init__.py").read_text()
    assert not (site / "gamma").exists()
    assert (scene.root / "work/triton-renamed.py").exists()
    assert not (scene.root / "cache/ab").exists()
    assert USER not in scene.registry._read()
    assert b"\nimport site" in (scene.root / "env/python._pth").read_bytes()
    assert (scene.root / "env/Include/Python.h").read_text() == HEADERS["Include/Python.h"]
    scene.undo_all()
    assert scene.state() == before


def test_a_wheel_that_cannot_be_laid_out_changes_nothing(scene: Faulty) -> None:
    before = scene.state()
    (scene.root / "beta-1.0-py3-none-any.whl").write_bytes(b"no zip")
    with pytest.raises(UserError, match="is refused: it is damaged"):
        scene.apply()
    assert scene.state() == before
    assert scene.store.unfinished() == ()


def test_a_wheel_with_another_hash_changes_nothing(scene: Faulty) -> None:
    before = scene.state()
    changes = [
        replace(c, sources=tuple(replace(s, sha256="0" * 64) for s in c.sources))
        if isinstance(c, InstallWheels)
        else c
        for c in scene.plan.changes
    ]
    other = replace(scene, plan=replace(scene.plan, changes=tuple(changes)))
    with pytest.raises(UserError, match=r"(?i)hash"):
        other.apply()
    assert scene.state() == before


@pytest.mark.parametrize(
    "every", [pytest.param(9, id="some"), pytest.param(1, id="all", marks=pytest.mark.full)]
)
def test_killed_at_any_point(scene: Faulty, monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    monkeypatch.setattr(applying.target_pip, "stage", laid_out(scene))
    assert scene.kill_everywhere(scene.apply, every) > 150 // every
