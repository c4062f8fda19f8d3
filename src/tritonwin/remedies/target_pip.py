"""The pip that runs in a target: its own, or one lent to it for the moment."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from tritonwin.facts.model import Facts, Interpreter
from tritonwin.remedies import installed_files
from tritonwin.remedies.plan import CannotRemedyError, target_to_change
from tritonwin.support.download import local_path
from tritonwin.support.pip import Pip
from tritonwin.support.versions import older
from tritonwin.system.files import names_in
from tritonwin.system.process import NOTHING_FROM_HERE

OLDEST = "22.2"  # the first that reports what it would install
_OWN = f"{NOTHING_FROM_HERE}; import pip._internal.cli.main as cli; sys.exit(cli.main())"
# Python's import from a zip reads and compiles every module twice, once only to tell its file name.
# A fifth of the processor time of a pip that is lent as a wheel goes there; without that function,
# it stays.
_COMPILE_ONCE = (
    "import functools, zipimport; slow = getattr(zipimport, '_get_module_code', None); "
    "zipimport._get_module_code = slow and functools.lru_cache(None)(slow)"
)
# Its folder is off the path again before pip looks around: the distributions that lie beside it
# are not the target's. pip finds its own modules without.
_BORROW = (
    f"{NOTHING_FROM_HERE}; {_COMPILE_ONCE}; place = sys.argv.pop(1); sys.path.insert(0, place); "
    "import pip._internal.cli.main as cli; sys.path.remove(place); sys.exit(cli.main())"
)


def find_pip(facts: Facts, lists: Sequence[str]) -> Pip:
    """The target's own pip; where it has none, a broken or too old one, one that lies elsewhere.

    Nothing of a lent pip stays in the target.

    Args:
        lists: folders that the user named, which may hold a wheel of pip.

    Raises:
        CannotRemedyError: none was found.
    """
    target = target_to_change(facts)
    own = facts.distribution("pip")
    if target.has_pip and own and not older(own.version, OLDEST) and _whole(Path(own.location)):
        return Pip((target.executable, "-B", "-c", _OWN), own.version)
    lent = next(_lent(lists, target), None)
    if lent is None:
        raise CannotRemedyError(
            f"{target.executable} has no whole pip of {OLDEST} or later, and there is none to lend",
            "Give a folder with a wheel of pip: --find-links DIR (pip download pip)",
        )
    place, version = lent
    return Pip((target.executable, "-B", "-c", _BORROW, str(place)), version)


def _lent(lists: Sequence[str], target: Interpreter) -> Iterator[tuple[Path, str]]:
    """What holds a package `pip`, and its version: our own site-packages, and wheels."""
    ours = importlib.util.find_spec("pip")
    for folder in (ours.submodule_search_locations or ()) if ours else ():
        version = metadata.version("pip")
        if not older(version, OLDEST) and _whole(Path(folder).parent / f"pip-{version}.dist-info"):
            yield Path(folder).parent, version
    for place in lists:
        path = local_path(place)
        if path is not None:
            yield from _wheels(path.absolute())
    bundled = importlib.util.find_spec("ensurepip")
    for folder in (bundled.submodule_search_locations or ()) if bundled else ():
        yield from _wheels(Path(folder, "_bundled"))
    if target.base_prefix:
        yield from _wheels(Path(target.base_prefix, "Lib", "ensurepip", "_bundled"))


def _whole(info: Path) -> bool:
    """Whether every module that this pip's RECORD lists is there: an update that was cut off, or a
    cleaner, takes some. Without a RECORD nothing is known against it.
    """
    wanted: dict[str, set[str]] = {}  # by folder: to ask for each file is slow on Windows
    for listed in installed_files.recorded(info) or ():
        folder, _, name = listed.rpartition("/")
        if name.endswith(".py"):
            wanted.setdefault(folder, set()).add(name)
    return all(names <= set(names_in(info.parent / folder)) for folder, names in wanted.items())


def _wheels(folder: Path) -> Iterator[tuple[Path, str]]:
    found = [n for n in names_in(folder) if n.startswith("pip-") and n.endswith(".whl")]
    for name in sorted(found, reverse=True):
        version = name.split("-")[1]
        if not older(version, OLDEST):
            yield folder / name, version
