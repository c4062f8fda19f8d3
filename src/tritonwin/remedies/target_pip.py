"""The pip that runs in a target: its own, or one lent to it for the moment."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tritonwin.facts.files import is_file, names_in
from tritonwin.facts.model import Facts, Interpreter
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.support.download import local_path
from tritonwin.support.matrix import older
from tritonwin.support.pip import Pip

OLDEST = "22.2"  # the first that reports what it would install


def find_pip(facts: Facts, lists: Sequence[str], scratch: Path) -> Pip:
    """The target's own pip; where it has none, or one too old, one from elsewhere.

    A lent pip is started from its wheel, or from a zip of its folder made in `scratch`: started
    from the site-packages that it lives in, it would take the distributions there for the target's.
    Nothing of it stays in the target.

    Raises:
        CannotRemedyError: none was found.
    """
    target = facts.target
    if target is None:
        msg = "no target interpreter"
        raise CannotRemedyError(msg)
    own = facts.distribution("pip")
    if target.has_pip and own and not older(own.version, OLDEST):
        return Pip((target.executable, "-B", "-m", "pip"))
    lent = next(_lent(lists, scratch, target), None)
    if lent is None:
        msg = f"{target.executable} has no pip of {OLDEST} or later, and none was found to lend it"
        raise CannotRemedyError(
            msg, "Give a folder with a wheel of pip: --find-links DIR (pip download pip)"
        )
    return Pip((target.executable, "-B", str(lent / "pip")))


def _lent(lists: Sequence[str], scratch: Path, target: Interpreter) -> Iterator[Path]:
    """Wheels of pip, or what can be run like one."""
    for place in lists:
        path = local_path(place)
        if path is not None:
            yield from _wheels(path.absolute())
    ours = importlib.util.find_spec("pip")
    for folder in (ours.submodule_search_locations or ()) if ours else ():
        yield _zipped(Path(folder), scratch)
    bundled = importlib.util.find_spec("ensurepip")
    for folder in (bundled.submodule_search_locations or ()) if bundled else ():
        yield from _wheels(Path(folder, "_bundled"))
    if target.base_prefix:
        yield from _wheels(Path(target.base_prefix, "Lib", "ensurepip", "_bundled"))


def _wheels(folder: Path) -> Iterator[Path]:
    found = [n for n in names_in(folder) if n.startswith("pip-") and n.endswith(".whl")]
    for name in sorted(found, reverse=True):
        if not older(name.split("-")[1], OLDEST):
            yield folder / name


def _zipped(package: Path, scratch: Path) -> Path:
    """A zip of the package alone, which Python runs as it runs a wheel."""
    file = scratch / "pip.zip"
    if not is_file(file):
        with zipfile.ZipFile(file, "w") as archive:
            for path in sorted(package.rglob("*")):
                if "__pycache__" not in path.parts and path.is_file():
                    archive.write(path, Path("pip", path.relative_to(package)))
    return file
