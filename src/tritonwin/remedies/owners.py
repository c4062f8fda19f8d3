"""Distributions that somebody else put there, and that are theirs to take away."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tritonwin.facts.model import Distribution, Interpreter
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.system.files import is_file, names_in, read_bytes

# files beside an environment from which a project's manager makes it again, and how to add to them
_LOCKS = {"uv.lock": ("uv sync", "uv add"), "poetry.lock": ("poetry sync", "poetry add")}
_RECORD_LIMIT = 1 << 26  # bytes of one of conda's records; pytorch's has 3 million


def of_the_base(found: Distribution, target: Interpreter) -> bool:
    """Whether a virtual environment only sees it; Python looks into the environment first."""
    if not target.prefix or not target.base_prefix or target.prefix == target.base_prefix:
        return False
    place = Path(found.location)
    return place.is_relative_to(target.base_prefix) and not place.is_relative_to(target.prefix)


def lock_note(target: Interpreter, requirements: Iterable[str]) -> str | None:
    """What to know where the environment is made again from a lock file of its project."""
    project = Path(target.prefix or target.executable).parent
    for name, (sync, add) in _LOCKS.items():
        if target.prefix != target.base_prefix and is_file(project / name):
            words = " ".join(f'"{each}"' for each in requirements)
            return f"{sync} takes out what {name} lacks. To keep it: {add} {words}"
    return None


def leave_to_conda(found: Iterable[Distribution], target: Interpreter) -> None:
    """Refuse to take away what conda installed: its records would go on saying that it is there.

    Raises:
        CannotRemedyError: with conda's own command.
    """
    for each in found:
        if each.installer != "conda":
            continue
        prefix = target.prefix or str(Path(target.executable).parent)
        package = _package_of(each, Path(prefix)) or each.name
        raise CannotRemedyError(
            f"{each.name} {each.version} was installed by conda (its package {package})",
            f'Let conda take it away, then try again: conda remove --force -p "{prefix}" {package}',
        )


def _package_of(found: Distribution, prefix: Path) -> str | None:
    """The package of conda whose record lists the distribution's metadata: pytorch has torch's."""
    wanted = f"site-packages/{Path(found.location).name}/".encode()
    for name in names_in(prefix / "conda-meta"):
        content = read_bytes(prefix / "conda-meta" / name, _RECORD_LIMIT)
        if name.endswith(".json") and content is not None and wanted in content:
            try:
                package = json.loads(content).get("name")
            except (ValueError, AttributeError, RecursionError):
                continue
            return package if isinstance(package, str) else None
    return None
