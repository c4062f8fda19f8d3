"""Requirements (PEP 508) that strangers wrote: read, or passed over."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import InvalidRequirement, Requirement


def read_requirement(text: str) -> Requirement | None:
    """The requirement; None for a text that is none."""
    try:
        return Requirement(text)
    except (InvalidRequirement, RecursionError):  # parentheses in a marker, without end
        return None


def holds(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether its marker holds, if any. What cannot be compared, `os_name ~= "nt"`, does not."""
    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate(dict(environment))
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
