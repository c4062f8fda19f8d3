"""Every Python of a machine, from files, registry and names; none of them is started."""

from __future__ import annotations

import os
from pathlib import Path

from tritonwin.facts.interpreter_kind import is_store_alias, read_pyvenv
from tritonwin.facts.interpreter_places import places
from tritonwin.facts.model import Interpreter
from tritonwin.facts.python_layout import describe
from tritonwin.system.host import Host


def find_interpreters(host: Host) -> tuple[Interpreter, ...]:
    """All Pythons in the order in which a user would meet them, each once.

    PATH comes first, then activated environments, the folders near the current one and below
    `host.app`, the registry (PEP 514), and what the usual managers keep. `source` says where a
    Python was met first. Scripts that start a Python, such as pyenv's shims, are left out: what
    they lead to is listed on its own.
    """
    found: dict[str, Interpreter] = {}
    for place in places(host):
        key = _identity(place.path, host)
        if key not in found and (host.windows or not _is_script(place.path)):
            found[key] = describe(
                place.path, place.source, host, version=place.version, kind=place.kind
            )
    return tuple(found.values())


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _identity(executable: Path, host: Host) -> str:
    """Equal for two names of one Python.

    A virtual environment is its folder: on Linux its executable is a link to that of the base. On
    Windows `python.exe` and `python3.exe` of one folder are copies; only the free-threaded
    `python3.13t.exe` beside them is another Python.
    """
    if is_store_alias(executable):
        return str(executable).lower()
    pyvenv = read_pyvenv(executable)
    if pyvenv is not None:
        return os.path.normcase(os.path.realpath(pyvenv.folder))
    real = Path(os.path.realpath(executable))
    if not host.windows:
        return str(real)
    return f"{real.parent}|{real.stem.endswith('t')}".lower()
