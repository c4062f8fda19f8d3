"""The folders in which Windows looks for a DLL, in its order, and why each of them counts.

"Dynamic-link library search order" (Microsoft Learn). Python loads a compiled module with
LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and _DEFAULT_DIRS since version 3.8: the folder of the module, that
of the running program, those that packages add with `os.add_dll_directory`, System32. PATH and the
current folder do not count; for a program that is started they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.model import Interpreter, Torch
from tritonwin.facts.packages import search_path
from tritonwin.system.files import names_in
from tritonwin.system.host import Host


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder; `reason` goes on after "found": "beside python.exe"."""

    folder: Path
    reason: str


def module_places(target: Interpreter, torch: Torch | None, host: Host) -> tuple[Place, ...]:
    """For any compiled module of the target, after the module's own folder."""
    places = (*_of_program(target), *_of_prefixes(target), *_added(target, torch, host))
    return _once((*places, *_system(host)))


def program_places(program: Path, host: Host) -> tuple[Place, ...]:
    """For a program that is started, and for a DLL that none of our Pythons loads."""
    path = (Place(folder=f, reason=f"in {f}, which is on PATH") for f in host.env.path_entries())
    beside = Place(folder=program.parent, reason="beside the file")
    return _once((beside, *_system(host), *path))


def _once(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple({place.folder: place for place in reversed(places)}.values())[::-1]


def _of_program(target: Interpreter) -> Iterator[Place]:
    """The program of a virtual environment is the python.exe of its base."""
    base = Path(target.base_executable or target.executable).parent
    yield Place(folder=base, reason="beside python.exe")
    yield Place(folder=Path(target.executable).parent, reason="beside python.exe")


def _of_prefixes(target: Interpreter) -> Iterator[Place]:
    for prefix in (target.prefix, target.base_prefix):
        if prefix:
            yield Place(folder=Path(prefix), reason="in Python's folder")
            library = Path(prefix, "Library", "bin")
            yield Place(folder=library, reason="in Library\\bin, which torch and conda add")


def _added(target: Interpreter, torch: Torch | None, host: Host) -> Iterator[Place]:
    if torch:
        yield Place(folder=Path(torch.location, "lib"), reason="in torch\\lib, which torch adds")
    for folder in search_path(target):
        for part in names_in(folder / "nvidia"):
            reason = f"in NVIDIA's wheel {part}, whose folder the packages that need it add"
            yield Place(folder=folder / "nvidia" / part / "bin", reason=reason)
            yield Place(folder=folder / "nvidia" / part / "bin" / "x86_64", reason=reason)
        for name in names_in(folder):
            if name.endswith(".libs"):
                reason = f"in {name}, which {name.removesuffix('.libs')} adds"
                yield Place(folder=folder / name, reason=reason)
    cuda = host.env.folder("CUDA_PATH")
    if cuda:
        for folder in (cuda / "bin", cuda / "bin" / "x64"):
            yield Place(folder=folder, reason="in CUDA_PATH, which torch adds")


def _system(host: Host) -> Iterator[Place]:
    system32 = host.system32()
    if system32 is not None:
        yield Place(folder=system32, reason="in System32")
