"""The source in the build folder: copied, with the recipe's edits.

Files that have changed are copied, and links lead where they led. A link to a file becomes the
file. A link to a folder stays one (on Windows a junction, which needs no rights): a folder of the
source is linked in the copy, a folder elsewhere where it is. No link is followed while walking, so
a circle of links does no harm.
"""

from __future__ import annotations

import contextlib
import filecmp
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tritonwin.build.plan import SourceEdit
from tritonwin.errors import UserError
from tritonwin.journal.disk import discard
from tritonwin.system.files import is_file, is_folder, long_path

_BLOCK = 64 * 1024
# history, and what earlier builds left, which belongs to other toolkits
NOT_COPIED = (".git", "build", "dist", "python/build")
_ENVIRONMENT = "pyvenv.cfg"  # what marks a virtual environment, which no build needs
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT of winnt.h


class SourceError(UserError):
    """The source cannot be fetched, read or unpacked."""


def skipped(path: PurePosixPath, skip: Sequence[str]) -> bool:
    """True for a path below the root that is one of the folders, or in one of them."""
    return any(path == entry or entry in path.parents for entry in map(PurePosixPath, skip))


def write(content: IO[bytes], place: Path, *, executable: bool) -> None:
    """Write a file with the current time: one from the future would be compiled in every run."""
    target = long_path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream, _BLOCK)
    if executable and sys.platform != "win32":
        target.chmod(0o755)


def is_executable(path: Path) -> bool:
    return os.access(path, os.X_OK)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link of a source. Where it leads is told from names alone: no server is asked.

    Attributes:
        name: below the source's root, as a POSIX path.
        inside: the place in the source that it leads to; None where it leads elsewhere.
    """

    name: str
    target: Path
    inside: PurePosixPath | None


def copy(source: Path, to: Path, skip: Sequence[str], edits: Sequence[SourceEdit]) -> None:
    """Make `to` the edited source. Files that are the same already keep their time.

    Raises:
        SourceError: there is no such folder, or it cannot be copied there.
        OSError: something cannot be read or written.
    """
    if not is_folder(source):
        raise SourceError(
            f"there is no folder {source}", "Name the folder with the source: --source DIR"
        )
    if to.absolute().is_relative_to(source.absolute()):
        raise SourceError(
            f"the build would be copied into its own source, {source}",
            "Name a folder elsewhere: --root DIR",
        )
    source = source.absolute()
    edited = {change.file for change in edits}
    _refuse_linked(source, edited)
    for path in _entries(source, skip):
        name = path.relative_to(source).as_posix()
        place = to / name
        _make_room(to, PurePosixPath(name))
        if is_link(path) and not path.is_file():
            _make_link(_link(path, source), to)
        elif name in edited:
            wanted = edited_content(path, name, edits)
            if not is_file(place) or place.read_bytes() != wanted:
                write(io.BytesIO(wanted), place, executable=is_executable(path))
        elif not is_file(place) or not filecmp.cmp(path, place, shallow=False):
            with path.open("rb") as content:
                write(content, place, executable=is_executable(path))


def is_project(folder: Path) -> bool:
    """True if pip could build the folder."""
    return is_file(folder / "setup.py") or is_file(folder / "pyproject.toml")


def links_out(root: Path, skip: Sequence[str]) -> tuple[Link, ...]:
    """Links that lead out of the source; as far as its folders can be read."""
    found: list[Link] = []
    root = root.absolute()
    with contextlib.suppress(OSError):
        found.extend(_link(path, root) for path in _entries(root, skip) if is_link(path))
    return tuple(link for link in found if link.inside is None)


def is_link(path: Path) -> bool:
    """A symbolic link or a junction."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def _entries(root: Path, skip: Sequence[str]) -> Iterator[Path]:
    """Files and links below the root. Raises OSError."""
    folders = [root]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if skipped(PurePosixPath(path.relative_to(root).as_posix()), skip):
                continue
            if is_link(path) or path.is_file():
                yield path
            elif path.is_dir() and not is_file(path / _ENVIRONMENT):
                folders.append(path)


def _link(path: Path, root: Path) -> Link:
    target = Path(os.path.normpath(path.parent / _plain(str(path.readlink()))))
    name = path.relative_to(root).as_posix()
    for spelling in (root.absolute(), root.resolve()):
        if target.is_relative_to(spelling):
            inside = PurePosixPath(target.relative_to(spelling).as_posix())
            return Link(name=name, target=target, inside=inside)
    return Link(name=name, target=target, inside=None)


def _plain(target: str) -> str:
    r"""Without the `\\?\` that Windows gives before where links lead, except before a volume."""
    if target.startswith("\\\\?\\UNC\\"):
        return "\\\\" + target.removeprefix("\\\\?\\UNC\\")
    return re.sub(r"^\\\\\?\\(?=[A-Za-z]:)", "", target)


def _refuse_linked(source: Path, edited: Iterable[str]) -> None:
    """Refuse to change what a link leads to: it is not part of the copy."""
    for name in edited:
        for folder in PurePosixPath(name).parents:
            if is_link(source / folder) and folder.name:
                raise SourceError(
                    f"{source / folder} is a link, and the recipe has to change {name}",
                    "Put the folder itself there, in place of the link.",
                )


def _make_room(to: Path, name: PurePosixPath) -> None:
    """Take away what an earlier run put where something of another kind is now."""
    for folder in (to / parent for parent in name.parents if parent.name):
        if is_link(folder) or is_file(folder):
            discard(folder)
    if is_link(to / name) or is_folder(to / name):
        discard(to / name)


def _make_link(link: Link, to: Path) -> None:
    place = to / link.name
    target = link.target if link.inside is None else to / link.inside
    discard(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(str(target), str(place))
    else:
        place.symlink_to(target)


def edit(folder: Path, edits: Sequence[SourceEdit]) -> None:
    """Make the changes in an unpacked source.

    Raises:
        SourceError: a file or text that has to be changed is not there, or is a link to elsewhere.
    """
    for file in dict.fromkeys(change.file for change in edits):
        refuse_link(folder, file)
        if is_file(folder / file) or any(c.required for c in edits if c.file == file):
            (folder / file).write_bytes(edited_content(folder / file, file, edits))


def edited_content(path: Path, name: str, edits: Sequence[SourceEdit]) -> bytes:
    """The content of a file of the source, with the edits for `name`, line ends as they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(
            f"the source has no {name}, which the recipe has to change",
            "It may be of another version: name it with --version",
        ) from None
    for change in edits:
        if change.file != name:
            continue
        find, put = change.find.encode(), change.replace.encode()
        if b"\r\n" in content:
            find, put = find.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        if find not in content and change.required:
            raise SourceError(
                f"{name} does not hold {change.find!r}, which the recipe has to change",
                "It may be of another version: name it with --version",
            )
        content = content.replace(find, put)
    return content


def refuse_link(folder: Path, name: str) -> None:
    """Refuse to change what lies elsewhere: a commit may hold links to anywhere."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise SourceError(
            f"the source has a link to elsewhere at {name}, which the recipe has to change",
            "Give a source that has a file or folder there: --source DIR",
        )
