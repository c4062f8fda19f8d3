"""Where Windows finds the DLLs of a compiled Python module in the target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.dll_places import module_places
from tritonwin.facts.files import names_in
from tritonwin.facts.host import Host
from tritonwin.facts.model import Interpreter, Torch
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
    """List the folders that count for every module: see `dll_places`."""
    if not host.windows:
        return DllSearch(None)
    places = module_places(target, torch, host)
    names = {name.lower() for place in places for name in names_in(place.folder)}
    return DllSearch(SYSTEM_DLLS | names)
