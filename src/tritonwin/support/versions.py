"""Versions as they stand in files and answers of programs: read, cut to a series, compared."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_LONGEST_VERSION = 200  # characters


def parse(version: str) -> Version | None:
    """The version, or None where the text is none (facts hold whatever a file said)."""
    try:
        # Python refuses to print an integer of thousands of digits
        return Version(version) if len(version) <= _LONGEST_VERSION else None
    except InvalidVersion:
        return None


def series(version: str) -> str | None:
    """Cut "2.9.1+cu128" to "2.9"; None where the text is no version."""
    parsed = parse(version)
    return f"{parsed.major}.{parsed.minor}" if parsed else None


def older(version: str | None, than: str) -> bool:
    """Whether the version is known and lower, local labels and post-releases counted."""
    have = parse(version) if version else None
    return have is not None and have < Version(than)


def fits(version: str, specifier: str) -> bool:
    """Whether the version lies in the range; pre-releases and local labels count as usual."""
    parsed = parse(version)
    try:
        return parsed is not None and SpecifierSet(specifier).contains(
            parsed.base_version, prereleases=True
        )
    except InvalidSpecifier:
        return False
