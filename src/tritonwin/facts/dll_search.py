"""Where Windows finds the DLLs of a compiled Python module in the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.files import names_in
from tritonwin.facts.host import Host
from tritonwin.facts.model import Interpreter, Torch
from tritonwin.facts.packages import search_path
from tritonwin.facts.pe import SYSTEM_DLLS, unresolved_imports


@dataclass(frozen=True)
class DllSearch:
    """The DLLs that any module of the target finds, wherever the module itself lies.

    `names` are file names in lower case. None: the machine is not Windows, so nothing can be said.
    """

    names: frozenset[str] | None

    def unresolved(self, path: Path) -> tuple[str, ...]:
        """The DLLs that a module needs to load and that it would not find."""
        if self.names is None:
            return ()
        return unresolved_imports(path, (path.parent,), known_system=self.names)


def dll_search(target: Interpreter, torch: Torch | None, host: Host) -> DllSearch:
    """List the folders that count since Python 3.8: PATH does not.

    They are the folder of python.exe (and of its base installation), System32, what torch adds
    when it is imported (its own lib, `Library\\bin`, CUDA_PATH), and the bin folders of NVIDIA's
    wheels, which the packages that need them add.
    """
    if not host.windows:
        return DllSearch(None)
    names = {name.lower() for folder in _folders(target, torch, host) for name in names_in(folder)}
    return DllSearch(SYSTEM_DLLS | names)


def _folders(target: Interpreter, torch: Torch | None, host: Host) -> Iterator[Path]:
    yield Path(target.executable).parent
    for prefix in (target.prefix, target.base_prefix):
        if prefix:
            yield Path(prefix)
            yield Path(prefix, "Library", "bin")
    if torch:
        yield Path(torch.location, "lib")
    for folder in search_path(target):
        for part in names_in(folder / "nvidia"):
            yield folder / "nvidia" / part / "bin"
            yield folder / "nvidia" / part / "bin" / "x86_64"
    cuda = host.env.folder("CUDA_PATH")
    if cuda:
        yield cuda / "bin"
        yield cuda / "bin" / "x64"
    system32 = host.system32()
    if system32:
        yield system32
