"""The places that a wheel's files get in a target, and the files of others that lie there."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from tritonwin.remedies.installed import Bounds, Removal, claimed, listed_by
from tritonwin.remedies.plan import CannotRemedyError, Replaced
from tritonwin.support.archives import DAMAGE, opened
from tritonwin.support.wheel_files import launchers
from tritonwin.system.files import is_file, is_folder

Placed: TypeAlias = Mapping[Path, Callable[[], bytes]]  # places in the target, and their contents

_SCRIPTS = "Scripts" if os.name == "nt" else "bin"
_SUFFIX = ".exe" if os.name == "nt" else ""


def in_wheel(wheel: Path, site_packages: Path, prefix: Path) -> Placed:
    """The files of a wheel by its own listing, and the launchers of its entry points."""
    schemes = {"scripts": prefix / _SCRIPTS, "data": prefix, "headers": prefix / "Include"}
    placed: dict[Path, Callable[[], bytes]] = {}
    try:
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                top, *parts = PurePosixPath(name).parts
                if name.endswith("/"):
                    continue
                if top.endswith(".data") and parts:
                    place = schemes.get(parts[0], site_packages).joinpath(*parts[1:])
                else:
                    place = site_packages / name
                placed[place] = partial(_member, wheel, name)
                if name.endswith(".dist-info/entry_points.txt"):
                    for launcher in launchers(_member(wheel, name)):
                        placed[prefix / _SCRIPTS / f"{launcher}{_SUFFIX}"] = bytes
    except (OSError, *DAMAGE) as error:
        raise CannotRemedyError(f"{wheel} cannot be read: {error}", "Fetch it again.") from None
    return placed


def _member(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as files, opened(files, files.getinfo(name)) as stream:
        return stream.read()


def laid_out(root: Path, prefix: Path) -> Placed:
    """The files that pip laid out below `root`, as if it were the target's prefix."""
    return {
        prefix / Path(folder).relative_to(root) / name: Path(folder, name).read_bytes
        for folder, _, names in os.walk(root)
        for name in names
    }


def replaced(
    placed: Placed, site_packages: Sequence[Path], prefix: Path, going: Removal
) -> tuple[Replaced, ...]:
    """The files in the way that do not belong to the distributions that are replaced.

    A folder that belongs to no distribution goes whole: Python would import a mixture.

    Raises:
        CannotRemedyError: a file would become one of Python's own.
    """
    bounds = Bounds(site_packages, prefix)
    gone = set(going.paths)
    mixed = {folder for path in going.stays for folder in path.parents}
    owners = {site: listed_by(site) for site in site_packages}
    found: dict[Path, Replaced] = {}
    folders: dict[Path, bool] = {}  # those of the new files; True: it goes whole, or is new
    # what no package brought there are modules and libraries of Python
    pythons_own = {os.path.normcase(each) for each in (prefix, prefix / "DLLs")}
    for place, content in placed.items():
        if not bounds.allow(place):
            raise _misplaced(place)
        folder = place.parent
        if folder not in folders:
            for site in site_packages:
                inside = folder.relative_to(site).parts if folder.is_relative_to(site) else ()
                top = site.joinpath(*inside[:1])
                metadata = top.name.endswith(".dist-info") or top == site
                if metadata or top in mixed | gone or not is_folder(top):
                    continue
                if not claimed(site, top.name):
                    found[top] = Replaced(path=str(top))
                    gone.add(top)
            leaves = not gone.isdisjoint((folder, *folder.parents))
            folders[folder] = leaves or not os.path.lexists(folder)
        if folders[folder] or place in gone or not os.path.lexists(place):
            continue
        if not is_file(place) or place.read_bytes() != content():
            keys = {site: os.path.normcase(os.path.relpath(place, site)) for site in site_packages}
            names = (owners[site].get(key.replace("\\", "/")) for site, key in keys.items())
            owner = next(filter(None, names), None)
            if owner is None and os.path.normcase(folder) in pythons_own:
                raise _misplaced(place)
            found[place] = Replaced(path=str(place), owner=owner)
    return tuple(found.values())


def _misplaced(place: Path) -> CannotRemedyError:
    return CannotRemedyError(
        f"a wheel holds {place}, which is no place for a file of a package", "Do not install it."
    )
