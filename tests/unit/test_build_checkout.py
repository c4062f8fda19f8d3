"""A source from git, with real git: one commit, its submodules, and no trace of git."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import machines
import pytest
from build_plans import laid_down
from git_repositories import ALLOW_FILES, Repositories, commit, with_submodules
from trees import write

from tritonwin.build import planner
from tritonwin.build.command import inherited
from tritonwin.build.order import Order
from tritonwin.build.records import BuildPlan, SourceEdit
from tritonwin.build.wheel import describe
from tritonwin.errors import UserError
from tritonwin.system.host import Host
from tritonwin.system.process import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs git, which the lane has not")

FILES = {"setup.py": "setup()", "a.cu": "kernel"}


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    return with_submodules(tmp_path_factory.mktemp("git"), FILES)


@pytest.fixture(autouse=True)
def _files_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALLOW_FILES.items():
        monkeypatch.setenv(name, value)


def checked_out(tmp_path: Path, repository: Path, **fields: Any) -> BuildPlan:
    return laid_down(tmp_path / "root", kind="git", location=repository.as_uri(), **fields)


def held(made: BuildPlan) -> set[str]:
    """Files of the source folder, without the one by which git knows a submodule."""
    folder = made.layout.source
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return {name for name in files if not name.endswith("/.git")}


def test_the_submodule_that_the_recipe_names(tmp_path: Path, repositories: Repositories) -> None:
    made = checked_out(
        tmp_path, repositories.mine, ref=repositories.first,
        submodules=("csrc/cutlass",), skip=("csrc/cutlass/examples",),
    )  # fmt: skip
    folder = made.layout.source
    assert held(made) == {
        "setup.py", "a.cu", ".gitmodules", "csrc/cutlass/.gitmodules",
        "csrc/cutlass/include/cutlass.h", "csrc/cutlass/inner/inner.h",
    }  # fmt: skip
    assert (folder / "csrc/cutlass/include/cutlass.h").read_text() == "old"
    # a setup.py that finds this fetches every submodule
    assert not (folder / ".git").exists()


@pytest.mark.parametrize("ref", [None, "v2"])
def test_all_submodules_of_the_newest_commit(
    tmp_path: Path, repositories: Repositories, ref: str | None
) -> None:
    made = checked_out(tmp_path, repositories.mine, ref=ref, submodules=(".",))
    assert (made.layout.source / "csrc/cutlass/include/cutlass.h").read_text() == "new"
    assert "csrc/composable_kernel/deep.hpp" in held(made)
    (tmp_path / "x.whl").touch()
    record = describe(made, tmp_path / "x.whl", (), {})
    assert record.inputs == {made.source.location: repositories.second}


def test_all_submodules_where_there_is_none(tmp_path: Path, repositories: Repositories) -> None:
    made = checked_out(tmp_path, repositories.mine.parent / "other", submodules=(".",))
    assert held(made) == {"deep.hpp"}


def test_a_ref_that_is_not_there(tmp_path: Path, repositories: Repositories) -> None:
    with pytest.raises(UserError, match="git fetch failed"):
        checked_out(tmp_path, repositories.mine, ref="nowhere")
    assert not (tmp_path / "root/s").exists()


def test_what_git_refuses_is_told_in_its_words(
    tmp_path: Path, repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_ALLOW_PROTOCOL")
    with pytest.raises(UserError, match="transport 'file' not allowed"):
        checked_out(tmp_path, repositories.mine, submodules=("csrc/cutlass",))


def test_the_repository_that_a_hook_works_in_is_left_alone(
    tmp_path: Path, repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    git = next(iter(Host.this_machine().executables("git")))
    run(git, ("init", "--quiet", str(theirs)), timeout=60, env=dict(os.environ))
    before = {p: p.read_bytes() for p in theirs.rglob("*") if p.is_file()}
    for name, place in {"DIR": ".git", "WORK_TREE": ".", "INDEX_FILE": ".git/index"}.items():
        monkeypatch.setenv(f"GIT_{name}", str(theirs / place))
    made = checked_out(tmp_path, repositories.mine, submodules=("csrc/cutlass",))
    assert "GIT_DIR" not in inherited(made, Host.this_machine())
    assert before == {p: p.read_bytes() for p in theirs.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("link", "skip", "edit"),
    [("csrc", ("csrc/cutlass",), None), ("csrc", ("csrc",), None), ("x.py", (), "x.py"),
     ("csrc", (), "csrc/cutlass/a")],
)  # fmt: skip
def test_a_link_of_a_commit_leads_to_no_change_elsewhere(
    tmp_path: Path, link: str, skip: tuple[str, ...], edit: str | None
) -> None:
    theirs = tmp_path / "theirs"
    write(theirs, {"cutlass/a": "old", "x.py": "old"})
    mine = tmp_path / "mine"
    write(mine, {"setup.py": ""})
    (mine / link).symlink_to(theirs / link if edit == link else theirs)
    commit(mine, {})
    edits = (SourceEdit(file=edit, find="old", replace="new", reason=""),) if edit else ()
    with contextlib.suppress(UserError):  # where a folder leads out of the source
        checked_out(tmp_path, mine, skip=skip, edits=edits)
    assert [p.read_bytes() for p in (theirs / "cutlass/a", theirs / "x.py")] == [b"old", b"old"]


def test_what_a_link_leads_to_keeps_its_rights(tmp_path: Path) -> None:
    theirs = tmp_path / "x.py"
    theirs.touch()
    theirs.chmod(0o444)
    mine = tmp_path / "mine"
    write(mine, {"setup.py": "", "csrc/a": ""})
    (mine / "csrc/b").symlink_to(theirs)
    commit(mine, {})
    made = checked_out(tmp_path, mine, skip=("csrc",))
    assert not (made.layout.source / "csrc").exists()
    assert theirs.stat().st_mode & 0o777 == 0o444


def test_a_ref_of_what_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    order = Order(recipe="flash-attn", source=str(tmp_path), ref="v1")
    with pytest.raises(UserError, match="taken as it is") as refused:
        planner.plan(order, machines.linux(tmp_path))
    assert "file:///" in refused.value.help
    order = Order(recipe="cuda-extension", source=tmp_path.as_uri(), ref="v1")
    made = planner.plan(order, machines.linux(tmp_path))
    assert (made.source.ref, made.source.submodules) == ("v1", (".",))
