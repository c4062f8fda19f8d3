"""Have ccache or sccache answer for nvcc where one is there: nothing is compiled twice."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from tritonwin.build.layout import Layout
from tritonwin.build.model import Decision, ToolkitChoice
from tritonwin.system.host import Host

_CACHES = ("sccache", "ccache")
_VARIABLE = "PYTORCH_NVCC"  # torch writes its value into the build file as nvcc's command
_FLAG = "--no-compiler-cache"
# Bytes of a folder in which sccache can make "/sccacheXXXXXX/sock": a name has at most 107.
# Windows has no such socket.
_LONGEST_TEMPORARY = 88
_FIRST_PORT, _PORTS = 10_000, 20_000  # below those that systems give out themselves


@dataclass(frozen=True, kw_only=True)
class CompilerCache:
    """What is added to the plan; nothing where there is no cache."""

    environment: dict[str, str] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()


def choose(toolkit: ToolkitChoice | None, host: Host, root: str) -> CompilerCache:
    """Take the cache on PATH; sccache is preferred, since it knows nvcc on every system.

    sccache compiles in a server. Each build gets one of its own, which is a process of the build:
    its memory counts, and it ends with the build.

    The C++ compiler is left alone: torch takes `ccache g++` for a compiler too old for CUDA.
    """
    caches = [path for name in _CACHES for path in host.executables(name)]
    if toolkit is None or not caches:
        return CompilerCache()
    nvcc = Path(toolkit.path, "bin", "nvcc")
    against = {path: _against(path, nvcc, host, root) for path in caches}
    cache = next((path for path in caches if against[path] is None), None)
    if cache is None:
        return _decided(caches[0], f"not used: {against[caches[0]]}", {})
    command = f"{cache} {nvcc}"
    environment = {_VARIABLE: command}
    if cache.stem == "sccache":
        environment["SCCACHE_SERVER_PORT"] = str(
            _FIRST_PORT + zlib.crc32(os.fsencode(root)) % _PORTS
        )
    return _decided(cache, "it is on PATH", environment)


def _against(cache: Path, nvcc: Path, host: Host, root: str) -> str | None:
    """Why this cache cannot answer for this nvcc; None if it can."""
    if " " in f"{cache}{nvcc}":
        return "the path of a program has a blank"
    temporary = os.fsencode(Layout(root=Path(root)).temp)
    if cache.stem == "sccache" and not host.windows and len(temporary) > _LONGEST_TEMPORARY:
        return f"a socket of its own has no room below {root}; give a shorter --root"
    return None


def _decided(cache: Path, reason: str, environment: dict[str, str]) -> CompilerCache:
    decision = Decision(name="cache", value=str(cache), reason=reason, flag=_FLAG)
    return CompilerCache(environment=environment, decisions=(decision,))
