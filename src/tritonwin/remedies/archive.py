"""Take folders out of a zip, refusing members that would land elsewhere."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tritonwin.errors import UserError
from tritonwin.support.archives import DAMAGE, Allowance, TooMuchError, leads_out, opened


class ArchiveError(UserError):
    """A zip that is damaged, or that holds what it must not."""


def unpack(archive: Path, folders: Mapping[str, Path]) -> None:
    """Unpack the folders of a zip, each into a folder of its own, ignoring all else in it.

    Names are compared as Windows does, without regard to case.

    Raises:
        ArchiveError: no zip, a member that would leave its folder, or more than may come out of it.
    """
    try:
        allowance = Allowance(archive.stat().st_size)
        with zipfile.ZipFile(archive) as files:
            for member in files.infolist():
                place = _place(member.filename, folders)
                if place is not None and not member.is_dir():
                    allowance.take(member.filename, member.file_size)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with opened(files, member) as source, place.open("wb") as target:
                        shutil.copyfileobj(source, target)
    except TooMuchError as error:
        raise ArchiveError(f"{archive}: {error}", "Do not use this file.") from None
    except (OSError, *DAMAGE) as error:
        raise ArchiveError(
            f"{archive} cannot be unpacked: {error}",
            "Fetch it again, and see that the disk has room.",
        ) from None


def names(archive: Path) -> tuple[str, ...]:
    """The names of a zip's members. Raises ArchiveError."""
    try:
        with zipfile.ZipFile(archive) as files:
            return tuple(files.namelist())
    except (OSError, *DAMAGE) as error:
        raise ArchiveError(
            f"{archive} cannot be read: {error}", "Fetch it again, or name another file."
        ) from None


def _place(name: str, folders: Mapping[str, Path]) -> Path | None:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    for folder, target in folders.items():
        wanted = PurePosixPath(folder).parts
        if tuple(p.lower() for p in parts[: len(wanted)]) != tuple(w.lower() for w in wanted):
            continue
        inner = parts[len(wanted) :]
        if not inner or leads_out(name):
            raise ArchiveError(
                f"the zip holds {name!r}, which would land outside its folder",
                "Do not use this file.",
            )
        return target.joinpath(*inner)
    return None
