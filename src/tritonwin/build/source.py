"""Bring the source and other files of a build to their folder: whole, edited, held to their hashes.

No password and no token gets into a plan, which is printed, stored, written as a script and put
beside the wheel: an address with one is none. git asks its own credential helpers.
"""

from __future__ import annotations

import filecmp
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from tritonwin.build.records import BuildPlan, BuildSource, OnEvent, SourceEdit
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.journal.disk import discard
from tritonwin.journal.tree import file_hash
from tritonwin.support import addresses, download
from tritonwin.support.addresses import DownloadError
from tritonwin.support.archives import unpack, unpack_folder, write
from tritonwin.support.download import NotFoundError
from tritonwin.support.pip import Pip, configured_places
from tritonwin.support.sources import Sources, locate
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import is_file, is_folder, paths_in, read_text
from tritonwin.system.host import Host, merged
from tritonwin.system.process import run

_PREFIX = "nvidia/cu13"  # of NVIDIA's wheels for CUDA 13, in which nvcc finds all its parts


def prepare(plan: BuildPlan, context: BuildContext) -> None:
    """Make the plan's source folder hold the edited source; what an earlier run left there stays.

    Of a folder, files that were changed since then are copied again, and those alone.

    Raises:
        UserError: it cannot be fetched or read, has another hash, or holds what it must not.
    """
    source, to = plan.source, plan.layout.source
    work = to.with_name(to.name + ".part")
    try:
        if source.kind == "folder":
            copy(Path(source.location), to, source.skip, plan.edits)
        elif not is_folder(to):
            discard(work)
            if source.kind == "git":
                commit = _check_out(source, work / "a", context.host)
                plan.layout.commit.write_text(commit + "\n", encoding="ascii")
            else:
                skip = source.skip
                place = lambda parts: _below(work / "a", parts[1:], skip)  # noqa: E731
                unpack(_on_disk(plan, context), place)
            copy(work / "a", work / "b", source.skip, plan.edits)
            (work / "b").rename(to)
    except OSError as error:
        where = error.filename or source.location
        raise UserError(
            f"the source cannot be copied: {where}: {error.strerror or error}",
            "See that it can be read, and that the disk has room.",
        ) from None
    finally:
        discard(work)


def commit(plan: BuildPlan) -> str | None:
    """The commit of a source from git, once it was fetched; None for other sources."""
    found = read_text(plan.layout.commit) if plan.source.kind == "git" else None
    return found.strip() if found else None


def _on_disk(plan: BuildPlan, context: BuildContext) -> Path:
    """The file that was named, or one of that name, held to its hash."""
    named, sha256 = Path(plan.source.location), plan.source.sha256
    if is_file(named) and sha256 in {None, file_hash(named)}:
        return named
    if is_file(named) and named.is_absolute():
        raise UserError(
            f"{named} is not the file that was released under this name: it has another hash",
            "Rename it to have it built as yours, or leave --source out to have it fetched.",
        )
    if sha256 is None:
        raise UserError(f"{named} is not there any more", "Give the file again: --source FILE")
    sdist = FileSource(name=plan.distribution, location=plan.source.location, sha256=sha256)
    return context.obtain(sdist, plan.layout.root)


# --- the copy that is built

# history, and what earlier builds left, which belongs to other toolkits
NOT_COPIED = (".git", "build", "dist", "python/build")
_ENVIRONMENT = "pyvenv.cfg"  # what marks a virtual environment, which no build needs


def _below(root: Path, parts: Sequence[str], skip: Sequence[str]) -> Path | None:
    """The place of a file below the root; None in one of the folders that are skipped."""
    path = PurePosixPath(*parts)
    left_out = any(entry in {path, *path.parents} for entry in map(PurePosixPath, skip))
    return None if left_out or not parts else root.joinpath(*parts)


def copy(source: Path, to: Path, skip: Sequence[str], edits: Sequence[SourceEdit]) -> None:
    """Make `to` the edited source. Files that are the same already keep their time.

    What a link leads to is copied in its place.

    Raises:
        UserError: there is no such folder, it cannot be copied there, or a file or text that has
            to be changed is missing.
        OSError: something cannot be read or written.
    """
    if not is_folder(source):
        raise UserError(
            f"there is no folder {source}", "Name the folder with the source: --source DIR"
        )
    source = source.absolute()
    if to.absolute().is_relative_to(source):
        raise UserError(
            f"the build would be copied into its own source, {source}",
            "Name a folder elsewhere: --root DIR",
        )
    missing = {change.file for change in edits if change.required}
    for path in _files(source, skip):
        name = path.relative_to(source).as_posix()
        changes = [change for change in edits if change.file == name]
        missing.discard(name)
        executable, place = os.access(path, os.X_OK), to / name
        if changes:
            wanted = edited_content(path, name, changes)
            if not is_file(place) or place.read_bytes() != wanted:
                write(io.BytesIO(wanted), place, executable=executable)
        elif not is_file(place) or not filecmp.cmp(path, place, shallow=False):
            with path.open("rb") as content:
                write(content, place, executable=executable)
    if missing:
        raise UserError(
            f"the source has no {missing.pop()}, which the recipe has to change", _OTHER_VERSION
        )


_OTHER_VERSION = "It may be of another version: name it with --version"


def is_project(folder: Path) -> bool:
    """True if pip could build the folder."""
    return is_file(folder / "setup.py") or is_file(folder / "pyproject.toml")


def _files(root: Path, skip: Sequence[str]) -> Iterator[Path]:
    """Files below the root, those behind links included.

    Raises:
        UserError: a link to a folder leads out of it, to whatever may be there.
        OSError: something cannot be read.
    """
    top = Path(os.path.realpath(root))
    folders: list[tuple[Path, tuple[str, ...]]] = [(root, ())]
    while folders:
        folder, above = folders.pop()
        real = os.path.realpath(folder)
        if real in above:  # a link that leads back
            continue
        if not Path(real).is_relative_to(top):
            raise UserError(
                f"{folder} leads out of the source, to {real}",
                "Put the folder itself there, or take the link away.",
            )
        for path in sorted(folder.iterdir()):
            if _below(root, path.relative_to(root).parts, skip) is None:
                continue
            if path.is_file():
                yield path
            elif path.is_dir() and not is_file(path / _ENVIRONMENT):
                folders.append((path, (*above, real)))


def edited_content(path: Path, name: str, edits: Sequence[SourceEdit]) -> bytes:
    """The content of a file of the source with its edits, line ends as they are."""
    content = path.read_bytes()
    for change in edits:
        find, put = change.find.encode(), change.replace.encode()
        if b"\r\n" in content:
            find, put = find.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        if find not in content and change.required:
            raise UserError(
                f"{name} does not hold {change.find!r}, which the recipe has to change",
                _OTHER_VERSION,
            )
        content = content.replace(find, put)
    return content


# --- files that need not be fetched, and those that are


@dataclass(frozen=True, kw_only=True)
class BuildContext:
    """Everything but order and plan that a build needs.

    Attributes:
        pip: finds the pip of the target.
        folders: hold files that need not be fetched; searched in this order.
        offline: nothing is fetched.
        facts: of the machine, for the explanation of a failure.
    """

    pip: Callable[[], Pip]
    host: Host = field(default_factory=Host.this_machine)
    folders: Sequence[Path] = ()
    offline: bool = False
    facts: Facts | None = None
    on_event: OnEvent = lambda _: None

    @cached_property
    def indexes(self) -> Sources:
        return configured_places(self.pip())

    @property
    def pip_options(self) -> tuple[str, ...]:
        links = (word for folder in self.folders for word in ("--find-links", str(folder)))
        return (*(["--no-index"] if self.offline else []), *links)

    def obtain(self, wanted: FileSource, into: Path) -> Path:
        """The file, in one of the folders or fetched into the folder `into`; its hash is checked.

        Args:
            wanted: with the normalised name under which an index lists it.

        Raises:
            DownloadError: it is found nowhere, or has another hash.
        """
        file = wanted.file
        for folder in (into, *self.folders):
            path = folder / file
            if is_file(path) and file_hash(path) == wanted.sha256:
                return path
        if self.offline:
            raise DownloadError(
                f"{file} is needed, and nothing may be fetched",
                "Put it into a folder and name that: --find-links DIR",
            )
        into.mkdir(parents=True, exist_ok=True)
        url: str | None = wanted.location
        if not addresses.is_url(wanted.location):
            url = locate(wanted.name, file, self.indexes)
        if url is None:
            raise NotFoundError(
                f"no index that pip is configured for has {file}",
                "Put it into a folder and name that: --find-links DIR",
            )
        download.fetch(url, into / file, sha256=wanted.sha256)
        return into / file


# --- a CUDA toolkit, assembled from wheels of the package index: one folder, a valid CUDA_HOME


def assemble(parts: Sequence[FileSource], to: Path, context: BuildContext) -> None:
    """Make `to` the toolkit; one that an earlier run has assembled stays.

    Raises:
        DownloadError: a part cannot be fetched, or has another hash.
        UserError: the parts hold no nvcc, or what they must not.
    """
    if is_folder(to):
        return
    work = to.with_name(to.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wheels = to.with_name(to.name + ".wheels")
    for part in parts:
        context.on_event(f"{part.name} {part.version}")
        unpack_folder(context.obtain(part, wheels), _PREFIX, work)
    if not any(is_file(work / "bin" / name) for name in ("nvcc", "nvcc.exe")):
        raise UserError(
            "the parts of the CUDA toolkit hold no nvcc",
            "Install the CUDA toolkit and name its folder: --cuda DIR",
        )
    # a wheel cannot hold a link, and a linker asks for libcudart.so
    for library in paths_in(work / "lib", "lib*.so.*"):
        name = library.with_name(library.name.partition(".so.")[0] + ".so")
        if not os.path.lexists(name):
            name.symlink_to(library.name)
    work.rename(to)
    shutil.rmtree(wheels, ignore_errors=True)


# --- commits of repositories

_GIT_TIMEOUT = 3600.0  # seconds of one call
# Without a login: the plan keeps an address. ssh has the user in it, who is no secret. Of git's
# other transports "ext::" runs a command, and "fd::" waits.
ADDRESS = re.compile(
    r"(?i:https?|git)://[^@/?#\s]+/[^?#\s]*|file:///.*"
    r"|ssh://(?:[\w.-]+@)?[\w.:-]+/[^?#\s]*|[\w.-]+@[\w.-]+:(?!:)[^:@?#\s]+"
)
# of the repository that a hook or an alias works in: with them git would change that one
GIT_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
)

NO_GIT = (
    "git is needed to fetch the source, and there is none on PATH",
    "Install git, or give an unpacked source: --source DIR",
)


def _check_out(source: BuildSource, to: Path, host: Host) -> str:
    """Fetch one commit, and the submodules that the build needs; the commit.

    What is left is what an sdist would hold. The setup.py of flash-attn fetches every submodule
    where it finds a `.git`, ROCm's with paths of 234 characters among them.
    """
    program = next(iter(host.executables("git")), None)
    if program is None:
        raise UserError(*NO_GIT)
    env = merged(host.env.data, {**dict.fromkeys(GIT_VARIABLES), "GIT_TERMINAL_PROMPT": "0"})
    to.mkdir(parents=True)

    def git(*words: str) -> str:
        done = run(program, words, timeout=_GIT_TIMEOUT, env=env, cwd=to)
        if done.code != 0:
            said = hide_secrets(done.err.decode("utf-8", "replace").strip())[-500:]
            raise UserError(
                f"git {words[0]} failed ({done.ending()}): {said}",
                "Check the address and the ref, or give --source DIR",
            )
        return done.out.decode("ascii", "replace").strip()

    git("init", "--quiet")
    git("config", "core.longpaths", "true")
    # a checkout whose lines end otherwise has other hashes than the one that was measured
    git("config", "core.autocrlf", "false")
    # without a remote, submodules with a relative address are sought below this folder
    git("config", "remote.origin.url", source.location)
    git("fetch", "--quiet", "--depth", "1", "--", "origin", source.ref or "HEAD")
    git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    if source.submodules:
        update = ("submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1", "--")
        git(*update, *source.submodules)
    commit = git("rev-parse", "HEAD")
    discard(to / ".git")
    return commit
