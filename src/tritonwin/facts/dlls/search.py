"""Where Windows finds the DLLs of a compiled Python module in the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.dlls.pe import SYSTEM_DLLS, is_api_set
from tritonwin.facts.dlls.places import module_places
from tritonwin.facts.model import Interpreter, Torch
from tritonwin.system.files import names_in
from tritonwin.system.host import Host


@dataclass(frozen=True)
class DllSearch:
    """The DLLs that any module of the target finds, wherever the module itself lies.

    `names` are file names in lower case. None: the machine is not Windows, so nothing can be said.
    """

    names: frozenset[str] | None

    def unresolved(self, imports: Iterable[str], folder: Path) -> tuple[str, ...]:
        """Those of a module's imports that a module which lies in `folder` would not find."""
        if self.names is None:
            return ()
        there = self.names.union(name.lower() for name in names_in(folder))
        return tuple(dll for dll in imports if not is_api_set(dll) and dll.lower() not in there)


def dll_search(target: Interpreter, torch: Torch | None, host: Host) -> DllSearch:
    """List the folders that count for every module: see `dll_places`."""
    if not host.windows:
        return DllSearch(None)
    places = module_places(target, torch, host)
    names = {name.lower() for place in places for name in names_in(place.folder)}
    return DllSearch(SYSTEM_DLLS | names)
