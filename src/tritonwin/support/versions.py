"""Versions from files and programs: parsed, cut to a series, compared."""

from __future__ import annotations

from functools import lru_cache

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
    """True for a valid version that is lower, local labels and post-releases included."""
    have = parse(version) if version else None
    return have is not None and have < Version(than)


def fits(version: str, specifier: str) -> bool:
    """True for a valid version in the range; pre-releases and local labels count as finals."""
    parsed = parse(version)
    try:
        return parsed is not None and _range(specifier).contains(
            parsed.base_version, prereleases=True
        )
    except InvalidSpecifier:
        return False


@lru_cache(1000)
def _range(specifier: str) -> SpecifierSet:
    return SpecifierSet(specifier)
