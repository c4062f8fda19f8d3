"""Installed distributions: which files are theirs, and who else has a say about them."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.records import Distribution, Interpreter
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.system.files import is_file, is_folder, names_in, read_bytes

_RECORD_LIMIT = 1 << 26  # bytes; torch's has 1.5 million, conda's record of pytorch 3 million
_PYTHONS_OWN = re.compile(r"python[\d.w]*t?(\.exe|\.dll|\._pth|\.zip)?|pyvenv\.cfg", re.IGNORECASE)
# what distributions without a RECORD left behind, where the folder is not named after them
_FOLDERS = {
    "triton-windows": ("triton",),
    "triton-nightly": ("triton",),
    "pytorch-triton": ("triton",),
    "torch": ("torch", "torchgen", "functorch"),
    "flash-attn": ("flash_attn",),
}
# files beside an environment from which a project's manager makes it again, and how to add to them
_LOCKS = {"uv.lock": ("uv sync", "uv add"), "poetry.lock": ("poetry sync", "poetry add")}


def removal(info: Path, prefix: Path) -> tuple[Path, ...]:
    """The files and folders that go with a distribution, all existing, none inside another.

    A folder right in site-packages goes as a whole, with bytecode and leftovers, when no other
    distribution claims a file in it.

    Args:
        info: its `.dist-info` (or `.egg-info`) folder or file.
        prefix: the folder of the environment.

    Raises:
        CannotRemedyError: its RECORD names a file outside the environment, or one of Python's own.
    """
    site_packages = info.parent
    listed = recorded(info)
    if listed is None:
        name = canonicalize_name(info.name.partition("-")[0])
        tops = _FOLDERS.get(name, (name.replace("-", "_"),))
        found = [info, *(site_packages / t for t in tops if not claimed(site_packages, t, info))]
        return tuple(path for path in found if os.path.lexists(path))
    chosen: dict[Path, None] = {info: None}
    own: dict[str, bool] = {}
    for path in _belonging(listed, info, prefix):
        top = _folder_of(path, site_packages)
        if top and top not in own:
            own[top] = not claimed(site_packages, top, info)
        if top and own[top]:
            chosen[site_packages / top] = None
        else:
            chosen.update(dict.fromkeys((path, *_bytecode(path))))
    return tuple(p for p in chosen if os.path.lexists(p) and not _inside(p, info))


def claimed(site_packages: Path, top: str, besides: Path | None = None) -> bool:
    """True where a distribution, other than `besides`, records a file in the folder `top`."""
    start = f"{top}/".encode()
    for name in names_in(site_packages):
        info = site_packages / name
        if not name.endswith((".dist-info", ".egg-info")) or info == besides:
            continue
        record = read_bytes(info / "RECORD", _RECORD_LIMIT)
        if record is not None and (record.startswith(start) or b"\n" + start in record):
            return True
        listed = read_bytes(info / "top_level.txt") if record is None else None
        if listed is not None and top.encode() in listed.split():
            return True
    return False


def recorded(info: Path) -> list[str] | None:
    """The files of a distribution, from site-packages on, as its RECORD names them.

    None where there is no RECORD, or it cannot be made out.
    """
    content = read_bytes(info / "RECORD", _RECORD_LIMIT)
    if content is None:
        return None
    rows = csv.reader(content.decode("utf-8", "replace").splitlines())
    try:
        return [row[0] for row in rows if row and row[0]]
    except csv.Error:  # a field of more characters than any path has
        return None


def _belonging(listed: Iterable[str], info: Path, prefix: Path) -> Iterator[Path]:
    """The listed files that exist; links in their folders are followed to see where they lie."""
    site_packages = info.parent
    packages, root = os.path.realpath(site_packages), os.path.realpath(prefix)
    library = str(Path(packages).parent)
    folders: dict[str, str] = {}
    for name in listed:
        path = os.path.normpath(site_packages / name)
        elsewhere = root == packages and not _within(path, str(site_packages))
        if elsewhere or not os.path.lexists(path):  # a user's own packages: scripts stay
            continue
        if is_folder(Path(path)) and not Path(path).is_symlink():
            continue  # a RECORD names files: a folder may hold those of others
        folder, file = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        place = folders[folder]
        inside = _within(place, root) and not _within(place, library)
        if not _within(place, packages) and not (inside and not _PYTHONS_OWN.fullmatch(file)):
            raise CannotRemedyError(
                f"the RECORD in {info} names {path}, which is no file of a package",
                "Uninstall that package by hand; tritonwin would take this file away with it.",
            )
        yield Path(path)


def _within(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder + os.sep)


def _folder_of(path: Path, site_packages: Path) -> str | None:
    """The name of the folder right in site-packages that the file lies in."""
    if not path.is_relative_to(site_packages):
        return None
    parts = path.relative_to(site_packages).parts
    return parts[0] if len(parts) > 1 and parts[0] != "__pycache__" else None


def _bytecode(source: Path) -> list[Path]:
    folder = source.parent / "__pycache__"
    if source.suffix != ".py" or not is_folder(folder):
        return []
    return [folder / n for n in names_in(folder) if n.startswith(f"{source.stem}.")]


def _inside(path: Path, folder: Path) -> bool:
    return path != folder and path.is_relative_to(folder)


def of_the_base(found: Distribution, target: Interpreter) -> bool:
    """True for a distribution that a virtual environment sees in its base."""
    if not target.prefix or not target.base_prefix or target.prefix == target.base_prefix:
        return False
    place = Path(found.location)
    return place.is_relative_to(target.base_prefix) and not place.is_relative_to(target.prefix)


def lock_note(target: Interpreter, requirements: Iterable[str]) -> str | None:
    """A hint where the environment is made from a lock file of its project."""
    project = Path(target.prefix or target.executable).parent
    for name, (sync, add) in _LOCKS.items():
        if target.prefix != target.base_prefix and is_file(project / name):
            words = " ".join(f'"{each}"' for each in requirements)
            return f"{sync} takes out what {name} lacks. To keep it: {add} {words}"
    return None


def leave_to_conda(found: Iterable[Distribution], target: Interpreter) -> None:
    """Refuse to take away what conda installed: its records would go on saying that it is there.

    Raises:
        CannotRemedyError: with conda's own command.
    """
    for each in found:
        if each.installer != "conda":
            continue
        prefix = target.prefix or str(Path(target.executable).parent)
        package = _package_of(each, Path(prefix)) or each.name
        raise CannotRemedyError(
            f"{each.name} {each.version} was installed by conda (its package {package})",
            f'Let conda take it away, then try again: conda remove --force -p "{prefix}" {package}',
        )


def _package_of(found: Distribution, prefix: Path) -> str | None:
    """The package of conda whose record lists the distribution's metadata: pytorch has torch's."""
    wanted = f"site-packages/{Path(found.location).name}/".encode()
    for name in names_in(prefix / "conda-meta"):
        content = read_bytes(prefix / "conda-meta" / name, _RECORD_LIMIT)
        if name.endswith(".json") and content is not None and wanted in content:
            try:
                package = json.loads(content).get("name")
            except (ValueError, AttributeError, RecursionError):
                continue
            return package if isinstance(package, str) else None
    return None
