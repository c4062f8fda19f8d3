"""Bring the source of a build to its folder: unpacked, copied or checked out, and never half."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tritonwin.build import repository
from tritonwin.build.copying import copy
from tritonwin.build.depot import Depot
from tritonwin.build.edits import edit, refuse_link
from tritonwin.build.model import BuildPlan, Source
from tritonwin.build.source_files import SourceError
from tritonwin.build.unpack import unpack
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.journal.disk import discard
from tritonwin.journal.tree import file_hash
from tritonwin.support import download
from tritonwin.system.files import is_file, is_folder, read_text
from tritonwin.system.host import Host
from tritonwin.system.process import run

_GIT_TIMEOUT = 3600.0
_COMMIT = "commit"  # beside the source folder


def prepare(
    plan: BuildPlan, depot: Depot, host: Host, logins: Mapping[str, str] | None = None
) -> None:
    """Make the plan's source folder hold the edited source; what an earlier run left there stays.

    Of a folder, files that were changed since then are copied again, and those alone.

    Args:
        logins: variables for git that hold logins, besides those of the host.

    Raises:
        SourceError: it cannot be read, or holds what it must not.
        DownloadError: it cannot be fetched, or has another hash.
    """
    source, to = plan.source, plan.layout.source
    if source.kind == "folder":
        try:
            copy(Path(source.location), to, source.skip, plan.edits)
        except OSError as error:
            where = error.filename or source.location
            raise SourceError(
                f"the source cannot be copied: {where}: {error.strerror or error}",
                "See that it can be read, and that the disk has room.",
            ) from None
    elif not is_folder(to):
        part = to.with_name(to.name + ".part")
        discard(part)
        try:
            if source.kind == "git":
                fetched = _check_out(source, part, {**host.env.data, **(logins or {})}, host)
                (plan.layout.root / _COMMIT).write_text(fetched + "\n", encoding="ascii")
            else:
                sdist = _fetched(source, plan.distribution, plan.layout.root, depot)
                unpack(sdist, part, source.skip)
            edit(part, plan.edits)
            part.rename(to)
        finally:
            discard(part)


def commit(plan: BuildPlan) -> str | None:
    """What the ref of a source from git stood for, once it was fetched; None for other sources."""
    found = read_text(plan.layout.root / _COMMIT) if plan.source.kind == "git" else None
    return found.strip() if found else None


def _fetched(source: Source, project: str, folder: Path, depot: Depot) -> Path:
    """The sdist on the disk: the file that was named, or one of that name, held to its hash."""
    local = download.local_path(source.location)
    if local is not None and is_file(local) and source.sha256 in {None, _hash(local, source)}:
        return local
    if local is not None and local.is_absolute() and is_file(local):
        raise SourceError(
            f"{local} is not the file that was released under this name: it has another hash",
            "Rename it to have it built as yours, or leave --source out to have it fetched.",
        )
    if source.sha256 is None:
        raise SourceError(
            f"no hash is known for {download.without_secrets(source.location)}",
            "Fetch it by hand and give the file: --source FILE",
        )
    name = re.split(r"[/\\]", source.location.partition("#")[0])[-1]
    url = source.location if download.is_url(source.location) else None
    return depot.obtain(project, name, source.sha256, folder, url)


def _hash(path: Path, source: Source) -> str | None:
    return file_hash(path) if source.sha256 else None


def _check_out(source: Source, to: Path, env: Mapping[str, str], host: Host) -> str:
    """Fetch one commit, and the submodules that the build needs; the commit.

    What is left is what an sdist would hold. The setup.py of flash-attn fetches every submodule
    where it finds a `.git`, ROCm's with paths of 234 characters among them.
    """
    program = next(iter(host.executables("git")), None)
    if program is None:
        raise SourceError(
            "git is needed to fetch the source, and there is none on PATH",
            "Install git, or give an unpacked source: --source DIR",
        )
    if source.login and not env.get(source.login):
        raise SourceError(
            f"the login for {source.location} is not known",
            f"Put it, as USER:TOKEN, into the variable {source.login}",
        )
    to.mkdir(parents=True)
    git = _git(program, to, env)
    for words in repository.checkout(source):
        git(*words, options=tuple(repository.options(source, words[0])))
    found = git("rev-parse", "HEAD").strip()
    for name in (".git", *source.skip):
        refuse_link(to, name)
        discard(to / name)
    return found


def _git(program: Path, folder: Path, env: Mapping[str, str]) -> Callable[..., str]:
    quiet = {k: v for k, v in env.items() if k.upper() not in repository.VARIABLES}
    quiet["GIT_TERMINAL_PROMPT"] = "0"

    def git(*args: str, options: tuple[str, ...] = ()) -> str:
        done = run(program, (*options, *args), timeout=_GIT_TIMEOUT, env=quiet, cwd=folder)
        if done.code != 0:
            said = hide_secrets(done.err.decode("utf-8", "replace").strip())[-500:]
            raise SourceError(
                f"git {args[0]} failed ({done.ending()}): {said}",
                "Check the address and the ref, or give --source DIR",
            )
        return done.out.decode("ascii", "replace")

    return git
