"""Repositories of real git, for tests of what fetches from them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from trees import write

from tritonwin.system.host import Host

# git's own default refuses submodules from files; GitHub's come by https
ALLOW_FILES = {"GIT_ALLOW_PROTOCOL": "file", "GIT_CONFIG_GLOBAL": os.devnull}
_NAMES = {
    f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def git(folder: Path, *args: str) -> str:
    """The answer of real git."""
    found = Host.this_machine().executables("git")
    if not found:
        pytest.skip("no git")
    env = {**os.environ, **ALLOW_FILES, **_NAMES}
    done = subprocess.run(
        [str(found[0]), *args], cwd=folder, env=env, check=True, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    """Write the files, and all that is there becomes a commit; its hash."""
    write(folder, files)
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x")
    return git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True, kw_only=True)
class Repositories:
    """A repository with two submodules, one of which has one itself, and two of its commits.

    In the first one the submodule `csrc/cutlass` holds "old"; in the second, tagged v2, "new".
    """

    mine: Path
    first: str
    second: str


def with_submodules(folder: Path, files: dict[str, str]) -> Repositories:
    inner, cutlass, other, mine = (folder / n for n in ("inner", "cutlass", "other", "mine"))
    commit(inner, {"inner.h": "inner"})
    commit(other, {"deep.hpp": "not needed"})
    commit(cutlass, {"include/cutlass.h": "old", "examples/a.cu": ""})
    git(cutlass, "submodule", "--quiet", "add", inner.as_uri(), "inner")
    commit(cutlass, {})
    commit(mine, files)
    git(mine, "submodule", "--quiet", "add", cutlass.as_uri(), "csrc/cutlass")
    git(mine, "submodule", "--quiet", "add", "../other", "csrc/composable_kernel")
    first = commit(mine, {})
    commit(cutlass, {"include/cutlass.h": "new"})
    git(mine / "csrc/cutlass", "pull", "-q", "origin", "HEAD")
    second = commit(mine, {})
    git(mine, "tag", "v2")
    return Repositories(mine=mine, first=first, second=second)
