"""Bring the source of a build to its folder: unpacked, copied or checked out, and never half.

Files get the time at which they are written, not that of the archive: a file from the future
would be compiled anew in every run.
"""

from __future__ import annotations

import filecmp
import io
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from tritonwin.build import repository
from tritonwin.build.depot import Depot
from tritonwin.build.model import BuildPlan, Edit, Source
from tritonwin.errors import UserError
from tritonwin.facts.files import is_file, is_folder, read_text
from tritonwin.facts.host import Host
from tritonwin.facts.process import run
from tritonwin.facts.redact import hide_secrets
from tritonwin.journal.disk import discard
from tritonwin.journal.tree import file_hash
from tritonwin.support import download
from tritonwin.support.archive_damage import DAMAGE

_LARGEST = 1024**3  # bytes of one file; what an archive claims to hold may be a lie of any size
_GIT_TIMEOUT = 3600.0
_COMMIT = "commit"  # beside the source folder


class SourceError(UserError):
    """The source cannot be had."""


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
            _copy(Path(source.location), to, source.skip, plan.edits)
        except OSError as error:
            where = error.filename or source.location
            msg = f"the source cannot be copied: {where}: {error.strerror or error}"
            raise SourceError(msg, "See that it can be read, and that the disk has room.") from None
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
            _edit(part, plan.edits)
            part.rename(to)
        finally:
            discard(part)


def commit(plan: BuildPlan) -> str | None:
    """What the ref of a source from git stood for, once it was fetched; None for other sources."""
    found = read_text(plan.layout.root / _COMMIT) if plan.source.kind == "git" else None
    return found.strip() if found else None


def _refuse_link(folder: Path, name: str) -> None:
    """Refuse to change what lies elsewhere: a commit may hold links to anywhere."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        msg = f"the source has a link to elsewhere at {name}, which the recipe has to change"
        raise SourceError(msg, "Give a source that has a file or folder there: --source DIR")


def _edit(folder: Path, edits: Sequence[Edit]) -> None:
    for file in dict.fromkeys(edit.file for edit in edits):
        _refuse_link(folder, file)
        if is_file(folder / file) or any(e.required for e in edits if e.file == file):
            (folder / file).write_bytes(_edited(folder / file, file, edits))


def _edited(path: Path, name: str, edits: Sequence[Edit]) -> bytes:
    """The content of a file of the source, with the edits for `name`, line ends as they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        msg = f"the source has no {name}, which the recipe has to change"
        raise SourceError(msg, "It may be of another version: name it with --version") from None
    for edit in edits:
        if edit.file != name:
            continue
        find, put = edit.find.encode(), edit.replace.encode()
        if b"\r\n" in content:
            find, put = find.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        if find not in content and edit.required:
            msg = f"{name} does not hold {edit.find!r}, which the recipe has to change"
            raise SourceError(msg, "It may be of another version: name it with --version")
        content = content.replace(find, put)
    return content


def _fetched(source: Source, project: str, folder: Path, depot: Depot) -> Path:
    """The sdist on the disk: the file that was named, or one of that name, held to its hash."""
    local = download.local_path(source.location)
    if local is not None and is_file(local) and source.sha256 in {None, _hash(local, source)}:
        return local
    if source.sha256 is None:
        msg = f"no hash is known for {download.without_secrets(source.location)}"
        raise SourceError(msg, "Fetch it by hand and give the file: --source FILE")
    name = re.split(r"[/\\]", source.location.partition("#")[0])[-1]
    url = source.location if download.is_url(source.location) else None
    return depot.obtain(project, name, source.sha256, folder, url)


def _hash(path: Path, source: Source) -> str | None:
    return file_hash(path) if source.sha256 else None


def unpack(archive: Path, to: Path, skip: Sequence[str] = ()) -> None:
    """Unpack a `.tar.gz` without its topmost folder.

    Raises:
        SourceError: no such archive, or a member that would land outside of `to`.
    """
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                place = _place(member.name, to, skip)
                content = tar.extractfile(member) if place and not member.isdir() else None
                if place is None or content is None:
                    continue
                if member.size > _LARGEST:
                    msg = f"{archive}: {member.name} is too large"
                    raise SourceError(msg)
                _write(content, place, executable=bool(member.mode & 0o100))
    except FileNotFoundError:
        msg = f"there is no file {archive}"
        raise SourceError(msg, "Name the source distribution: --source FILE") from None
    except (OSError, *DAMAGE) as error:
        msg = f"{archive} cannot be unpacked: {error}"
        raise SourceError(msg, "Fetch it again, and see that the disk has room.") from None


def _place(name: str, to: Path, skip: Sequence[str]) -> Path | None:
    """Where a member belongs; None for what is skipped."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if any(part in {"..", "/"} or ":" in part for part in parts):
        msg = f"the archive holds {name!r}, which would land outside its folder"
        raise SourceError(msg, "Do not use this file.")
    inner = parts[1:]
    if not inner or _skipped(PurePosixPath(*inner), skip):
        return None
    return to.joinpath(*inner)


def _skipped(path: PurePosixPath, skip: Sequence[str]) -> bool:
    return any(path == entry or entry in path.parents for entry in map(PurePosixPath, skip))


def _write(content: IO[bytes], place: Path, *, executable: bool) -> None:
    target = _long(place)
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120 - see _long
    with open(target, "wb") as stream:  # noqa: PTH123
        shutil.copyfileobj(content, stream)
    if executable and sys.platform != "win32":
        place.chmod(0o755)


def _long(path: Path) -> str:
    r"""The path in the form that Windows takes at any length, whatever its settings: `\\?\`."""
    text = str(path.absolute())
    return f"\\\\?\\{text}" if sys.platform == "win32" and not text.startswith("\\\\") else text


def _copy(source: Path, to: Path, skip: Sequence[str], edits: Sequence[Edit]) -> None:
    if not is_folder(source):
        msg = f"there is no folder {source}"
        raise SourceError(msg, "Name the folder with the source: --source DIR")
    if to.absolute().is_relative_to(source.absolute()):
        msg = f"the build would be copied into its own source, {source}"
        raise SourceError(msg, "Name a folder elsewhere: --root DIR")
    edited = {edit.file for edit in edits}
    for path in _files(source, source, skip):
        name = path.relative_to(source).as_posix()
        place = to / name
        if name in edited:
            wanted = _edited(path, name, edits)
            if not is_file(place) or place.read_bytes() != wanted:
                _write(io.BytesIO(wanted), place, executable=os.access(path, os.X_OK))
        elif not is_file(place) or not filecmp.cmp(path, place, shallow=False):
            with path.open("rb") as content:
                _write(content, place, executable=os.access(path, os.X_OK))


def _files(folder: Path, root: Path, skip: Sequence[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if _skipped(PurePosixPath(path.relative_to(root).as_posix()), skip):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path, root, skip)
        elif path.is_file():
            yield path


def _check_out(source: Source, to: Path, env: Mapping[str, str], host: Host) -> str:
    """Fetch one commit, and the submodules that the build needs; the commit.

    What is left is what an sdist would hold. The setup.py of flash-attn fetches every submodule
    where it finds a `.git`, ROCm's with paths of 234 characters among them.
    """
    program = next(iter(host.executables("git")), None)
    if program is None:
        msg = "git is needed to fetch the source, and there is none on PATH"
        raise SourceError(msg, "Install git, or give an unpacked source: --source DIR")
    if source.login and not env.get(source.login):
        msg = f"the login for {source.location} is not known"
        raise SourceError(msg, f"Put it, as USER:TOKEN, into the variable {source.login}")
    to.mkdir(parents=True)
    git = _git(program, to, env)
    for words in repository.checkout(source):
        git(*words, options=tuple(repository.options(source, words[0])))
    found = git("rev-parse", "HEAD").strip()
    for name in (".git", *source.skip):
        _refuse_link(to, name)
        discard(to / name)
    return found


def _git(program: Path, folder: Path, env: Mapping[str, str]) -> Callable[..., str]:
    quiet = {k: v for k, v in env.items() if k.upper() not in repository.VARIABLES}
    quiet["GIT_TERMINAL_PROMPT"] = "0"

    def git(*args: str, options: tuple[str, ...] = ()) -> str:
        done = run(program, (*options, *args), timeout=_GIT_TIMEOUT, env=quiet, cwd=folder)
        if done.code != 0:
            said = hide_secrets(done.err.decode("utf-8", "replace").strip())[-500:]
            msg = f"git {args[0]} failed ({done.ending()}): {said}"
            raise SourceError(msg, "Check the address and the ref, or give --source DIR")
        return done.out.decode("ascii", "replace")

    return git
