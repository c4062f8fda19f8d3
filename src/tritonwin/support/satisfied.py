"""Whether a target has what wheels ask for, by their metadata alone: then pip need not be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.facts.model import Interpreter

# markers that ask for no fact of a target; packaging would answer them for our own system
_UNKNOWN = ("platform_version", "platform_release")


def satisfied(lines: Iterable[str], target: Interpreter, versions: Mapping[str, str]) -> bool:
    """Whether everything in these Requires-Dist lines is there already.

    False also where it cannot be told from here: pip knows then.

    Args:
        versions: of what is there or comes along, by normalised name.
    """
    lines = tuple(lines)
    environment = marker_environment(target)
    if environment is None or any(name in line for line in lines for name in _UNKNOWN):
        return False
    try:
        return all(_is_there(Requirement(line), environment, versions) for line in lines)
    except (ValueError, RecursionError):  # no requirement, no version, or no comparison
        return False


def _is_there(
    wanted: Requirement, environment: Mapping[str, str], versions: Mapping[str, str]
) -> bool:
    if wanted.marker is not None and not wanted.marker.evaluate(dict(environment)):
        return True
    version = versions.get(canonicalize_name(wanted.name))
    if version is None or wanted.extras or wanted.url:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def marker_environment(target: Interpreter) -> dict[str, str] | None:
    """What environment markers (PEP 508) mean in the target; None where that is not known."""
    if target.version is None or target.platform_tag is None or target.machine is None:
        return None
    windows = target.platform_tag.startswith("win")
    if not windows and not target.platform_tag.startswith("linux"):
        return None
    return {
        "python_version": ".".join(target.version.split(".")[:2]),
        "python_full_version": target.version,
        "implementation_version": target.version,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "nt" if windows else "posix",
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
        "platform_machine": target.machine,
        "extra": "",
    }
