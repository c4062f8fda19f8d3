"""Files and folders that Python would import in the place of Triton or torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tritonwin.facts.model import Interpreter, Shadow
from tritonwin.facts.packages import search_path
from tritonwin.system.files import is_file, names_in, paths_in, same_place
from tritonwin.system.host import Host

# Module -> a pattern in its folder that only the real, built package has.
_MODULES = {"triton": "_C/libtriton*", "torch": "_C*"}


def read_shadows(target: Interpreter, host: Host) -> tuple[Shadow, ...]:
    """Files and folders named `triton` or `torch` that Python would import instead of the package.

    A folder without `__init__.py` does no harm: a real package anywhere on the path wins over it.
    """
    found: dict[str, Shadow] = {}
    for folder, reason in _folders(target, host):
        for module in _MODULES:
            for path in _hiding(folder, module):
                found.setdefault(
                    same_place(path), Shadow(module=module, path=str(path), reason=reason)
                )
    return tuple(found.values())


def _folders(target: Interpreter, host: Host) -> Iterator[tuple[Path, str]]:
    installed = {same_place(folder) for folder in search_path(target)}
    places = [(host.cwd, "current folder")]
    if host.app:
        places.append((host.app, "application folder"))
    if target.pth is None:  # a ._pth file makes Python ignore PYTHONPATH
        separator = ";" if host.windows else ":"
        entries = (host.env.get("PYTHONPATH") or "").split(separator)
        places += [(Path(e.strip().strip('"')), "PYTHONPATH") for e in entries if e.strip()]
    for folder, reason in places:
        if same_place(folder) not in installed or reason != "PYTHONPATH":
            yield folder, reason


def _hiding(folder: Path, module: str) -> Iterator[Path]:
    names = names_in(folder)  # Python compares case even where the file system does not
    package = folder / module
    if module in names and is_file(package / "__init__.py"):
        if not paths_in(package, _MODULES[module]):
            yield package
    elif f"{module}.py" in names:
        yield folder / f"{module}.py"
