"""The VC runtime DLLs that a Python gets, and the older ones that may come before newer ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.model import Interpreter, RuntimeDll
from tritonwin.system.files import is_file, is_folder
from tritonwin.system.host import Host

# libtriton, torch and flash-attn import these; vcomp140 is OpenMP, used by what cl compiles.
NAMES = (
    "msvcp140.dll",
    "msvcp140_1.dll",
    "vcruntime140.dll",
    "vcruntime140_1.dll",
    "vcruntime140_threads.dll",
    "vcomp140.dll",
)

Place = Literal["beside-python", "base-python", "system32", "package", "conda"]


def read_runtime_dlls(target: Interpreter, host: Host) -> tuple[RuntimeDll, ...]:
    """Every copy of the runtime DLLs in the places where Windows looks, in that order.

    Windows looks in the folder of the running program first and in System32 last ("Dynamic-link
    library search order", Microsoft Learn); conda's Python adds `Library\\bin` between the two.
    The program of a virtual environment is the base interpreter, which its `python.exe` starts:
    a DLL in `Scripts` is listed, but never the one that is loaded. Empty on other systems.
    """
    if not host.windows:
        return ()
    return tuple(dll for name in NAMES for dll in _copies(name, target, host))


def _copies(name: str, target: Interpreter, host: Host) -> Iterator[RuntimeDll]:
    taken = False
    for place, folder, searched in _places(target, host):
        path = folder / name
        if not is_file(path):
            continue
        image = read_pe(path, version=True)
        loads = searched and not taken
        taken = taken or loads
        yield RuntimeDll(
            name=name,
            path=str(path),
            place=place,
            version=image.file_version if image else None,
            loaded=loads,
        )


def _places(target: Interpreter, host: Host) -> Iterator[tuple[Place, Path, bool]]:
    """Place, folder, and whether Windows looks there when the target runs."""
    own = Path(target.executable).parent
    base = Path(target.base_executable).parent if target.base_executable else own
    yield "beside-python", own, own == base
    if own != base:
        yield "base-python", base, True
    library = base / "Library" / "bin"
    if is_folder(base / "conda-meta"):
        yield "conda", library, True
    system32 = host.system32()
    if system32 is not None:
        yield "system32", system32, True
