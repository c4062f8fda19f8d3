"""Put a CUDA toolkit together from wheels of the package index: one folder, a valid CUDA_HOME.

NVIDIA's wheels for CUDA 13 share one prefix, `nvidia/cu13`, in which nvcc finds all its parts.
Those for CUDA 12 have no nvcc.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from tritonwin.build.depot import Depot
from tritonwin.build.model import PinnedFile
from tritonwin.errors import UserError
from tritonwin.support.archives import leads_out
from tritonwin.system.files import is_file, is_folder, paths_in

_PREFIX = ("nvidia", "cu13")
_EXECUTABLE = 0o111 << 16  # where a zip keeps the mode of a file


def assemble(
    parts: Sequence[PinnedFile], to: Path, depot: Depot, tell: Callable[[str], None]
) -> None:
    """Make `to` the toolkit; one that an earlier run has put together stays.

    Args:
        tell: given a line for each part.

    Raises:
        DownloadError: a part cannot be fetched, or has another hash.
        UserError: the parts hold no nvcc.
    """
    if is_folder(to):
        return
    work = to.with_name(to.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wheels = to.with_name(to.name + ".wheels")
    for part in parts:
        tell(f"{part.name} {part.version}")
        _unpack(depot.obtain(part.name, part.file, part.sha256, wheels, part.url), work)
    if not any(is_file(work / "bin" / name) for name in ("nvcc", "nvcc.exe")):
        raise UserError(
            "the parts of the CUDA toolkit hold no nvcc",
            "Install the CUDA toolkit and name its folder: --cuda DIR",
        )
    if sys.platform != "win32":
        name_libraries(work / "lib", work / "lib")
    work.rename(to)
    shutil.rmtree(wheels, ignore_errors=True)


def _unpack(wheel: Path, to: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        for member, place in _members(files, to):
            place.parent.mkdir(parents=True, exist_ok=True)
            with files.open(member) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
            if member.external_attr & _EXECUTABLE and os.name != "nt":
                place.chmod(0o755)


def _members(files: zipfile.ZipFile, to: Path) -> Iterator[tuple[zipfile.ZipInfo, Path]]:
    for member in files.infolist():
        parts = PurePosixPath(member.filename).parts
        if parts[:2] == _PREFIX and not leads_out(member.filename) and not member.is_dir():
            yield member, to.joinpath(*parts[2:])


def name_libraries(folder: Path, into: Path) -> None:
    """Link every library under the name that a linker asks for; a wheel cannot hold such a link."""
    into.mkdir(parents=True, exist_ok=True)
    for library in paths_in(folder, "lib*.so.*"):
        name = into / (library.name.partition(".so.")[0] + ".so")
        if not os.path.lexists(name):
            name.symlink_to(library.name if folder == into else library)
