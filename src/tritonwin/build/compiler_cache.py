"""Use ccache or sccache where one is there, for what a build compiles a second time."""

from __future__ import annotations

from pathlib import Path

from tritonwin.facts.host import Host

_CACHES = ("sccache", "ccache")


def find(host: Host) -> Path | None:
    """The compiler cache on PATH; sccache is preferred, since it knows nvcc on every system."""
    found = (path for name in _CACHES for path in host.executables(name))
    return next(found, None)


def variables(cache: Path, *, nvcc: str | None, cxx: str | None, windows: bool) -> dict[str, str]:
    """The variables by which torch's builds start their compilers through the cache.

    torch splits them as a shell does, so what has a blank in its path is left alone. On Windows
    torch writes `cl` into its build file without asking, and only nvcc can be replaced.
    """
    named = {"PYTORCH_NVCC": nvcc, "CXX": None if windows else cxx}
    words = {k: f"{cache} {v}" for k, v in named.items() if v}
    return {k: v for k, v in words.items() if v.count(" ") == 1}
