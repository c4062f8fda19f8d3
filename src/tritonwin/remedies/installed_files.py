"""Which files on disk belong to an installed distribution, and which of its folders to it alone."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.system.files import is_folder, names_in, read_bytes

_RECORD_LIMIT = 1 << 26  # bytes; torch's has 1.5 million
# what distributions without a RECORD left behind, where the folder is not named after them
_FOLDERS = {
    "triton-windows": ("triton",),
    "triton-nightly": ("triton",),
    "pytorch-triton": ("triton",),
    "torch": ("torch", "torchgen", "functorch"),
    "flash-attn": ("flash_attn",),
}


def removal(info: Path, prefix: Path) -> tuple[Path, ...]:
    """The files and folders that go with a distribution, all existing, none inside another.

    A folder right in site-packages goes as a whole, with bytecode and leftovers, when no other
    distribution claims a file in it. Files outside `prefix`, which a damaged RECORD may name, are
    never among them.

    Args:
        info: its `.dist-info` (or `.egg-info`) folder or file.
        prefix: the folder of the environment.
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
    for path in _below(listed, site_packages, prefix):
        top = _folder_of(path, site_packages)
        if top and top not in own:
            own[top] = not claimed(site_packages, top, info)
        if top and own[top]:
            chosen[site_packages / top] = None
        else:
            chosen.update(dict.fromkeys((path, *_bytecode(path))))
    return tuple(p for p in chosen if os.path.lexists(p) and not _inside(p, info))


def claimed(site_packages: Path, top: str, besides: Path | None = None) -> bool:
    """Whether a distribution, other than `besides`, records a file in the folder `top`."""
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


def _below(listed: Iterable[str], site_packages: Path, prefix: Path) -> Iterator[Path]:
    root = os.path.normcase(prefix)
    for name in listed:
        path = os.path.normpath(site_packages / name)
        if os.path.normcase(path).startswith(root + os.sep):
            yield Path(path)


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
