"""The smaller choices of a plan: target, folder, existing wheel, local version, compiler cache."""

from __future__ import annotations

import hashlib
import ntpath
import os
import posixpath
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tritonwin.build.order import Request
from tritonwin.build.plan import GIB, Layout, Toolkit
from tritonwin.errors import UserError
from tritonwin.support.choice import Choice, Obstacle, Reason
from tritonwin.support.versions import series

_MOST_LINKS = 5  # that are named
_PATH_LIMIT = 259  # characters of a path on Windows, the end of the string not counted
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60  # characters of a local version; the wheel's name has to be one of a file
_CACHES = ("sccache", "ccache")
_NVCC = "PYTORCH_NVCC"  # torch writes its value into the build file as nvcc's command
# Bytes of a folder in which sccache can make "/sccacheXXXXXX/sock": a name has at most 107.
# Windows has no such socket.
_LONGEST_TEMPORARY = 88
_FIRST_PORT, _PORTS = 10_000, 20_000  # below those that systems give out themselves


# --- a wheel that exists, a target that cannot build


def existing_wheel(request: Request) -> Choice[None]:
    """A wheel that fits makes the build needless."""
    found = request.machine.wheel
    if found is None:
        return Choice(value=None)
    if not found.file:
        why = "; ".join(found.in_short()) or "no source names one"
        reason = Reason(name="wheel", value="none fits", reason=why, flag="--anyway")
        return Choice(value=None, reasons=(reason,))
    why = f"from {found.source}"
    needless = Obstacle(
        problem="",
        message=f"a wheel that fits exists: {found.file}",
        help=f'Install it: tritonwin install {found.package} --python "{_python(request)}"; '
        "or build all the same: --anyway",
    )
    return Choice(
        value=None,
        reasons=(Reason(name="wheel", value=found.file, reason=why, flag="--anyway"),),
        refusals=() if request.order.anyway else (needless,),
    )


def target(request: Request) -> Choice[None]:
    """Refuse a target that cannot build; warn of what this machine may get wrong."""
    return Choice(
        value=None,
        refusals=(*_torch(request), *_headers(request)),
        warnings=tuple(_warnings(request)),
    )


def _python(request: Request) -> str:
    return request.target.executable


def _torch(request: Request) -> Iterator[Obstacle]:
    torch, recipe = request.torch, request.recipe
    if not recipe.needs_torch:
        return
    install = f'Install it: tritonwin install torch --python "{_python(request)}"'
    if torch is None:
        yield Obstacle(
            problem="build-isolation-hides-torch",
            message=f"{recipe.name} is built against torch, and {_python(request)} has none",
            help=install,
        )
    elif torch.cuda is None and recipe.needs_cuda:
        yield Obstacle(
            problem="cpu-only-torch",
            message=f"torch {torch.version} is built without CUDA",
            help=install,
        )


def _headers(request: Request) -> Iterator[Obstacle]:
    dev, python = request.facts.python_dev, _python(request)
    if dev is not None and dev.headers is None:
        yield Obstacle(
            problem="embedded-python-no-headers",
            message=f"{python} has no Python.h",
            help=f'Put the headers there: tritonwin fix --python "{python}"',
        )
    elif dev is not None and request.windows and dev.import_library is None:
        yield Obstacle(
            problem="python-libs-not-found-venv-uv",
            message=f"{python} has no import library (libs\\python3XX.lib)",
            help=f'Put it there: tritonwin fix --python "{python}"',
        )


def _warnings(request: Request) -> Iterator[str]:
    order, checkout = request.order, request.machine.checkout
    if order.msvc and not request.windows:
        yield f"--msvc {order.msvc} is for Windows; here the variable CXX names the compiler"
    links = checkout.links_out if checkout else ()
    if links:
        named = ", ".join(f"{link.name} -> {link.target}" for link in links[:_MOST_LINKS])
        more = f" and {len(links) - _MOST_LINKS} more" if len(links) > _MOST_LINKS else ""
        yield f"the source has links that lead out of it, and the build uses them: {named}{more}"
    for variable in request.facts.variables:
        if variable.scope == "process" and variable.flaws:
            flaws = ", ".join(variable.flaws)
            name = variable.name
            yield f"the variable {name} has a flaw ({flaws}); the build does not inherit it"
    if request.host.env.get("NVCC_PREPEND_FLAGS"):
        yield "NVCC_PREPEND_FLAGS is set, and nvcc obeys it"


# --- the folder


def folder(request: Request, *inputs: str | None, disk: int) -> Choice[Layout]:
    """The build folder, the same for the same inputs, so that a build can be resumed.

    Short, of ASCII, on a disk with room; only programs of Windows have these limits, and blanks.

    Args:
        inputs: everything that makes it another build.
        disk: bytes that the build needs.
    """
    key = hashlib.sha256("\0".join(part or "" for part in inputs).encode()).hexdigest()[:8]
    join = (ntpath if request.windows else posixpath).join
    root = join(request.parent, f"{request.recipe.name}-{key}")
    layout = Layout(root, windows=request.windows)
    short = "short and of ASCII, for paths of at most 260 characters"
    why = (
        "asked for" if request.order.root else short if request.windows else "tritonwin's own data"
    )
    against = [*_limits(layout, request), *_room(request.machine.disk_free, disk)]
    return Choice(
        value=layout,
        reasons=(Reason(name="folder", value=str(layout.root), reason=why, flag="--root"),),
        refusals=tuple(
            Obstacle(
                problem=problem,
                message=f"the build folder {layout.root} {message}",
                help="Name another one with --root: short, of ASCII, no blank, on a local disk "
                "with room",
            )
            for problem, message in against
        ),
    )


def _limits(layout: Layout, request: Request) -> Iterator[tuple[str, str]]:
    root = str(layout.root)
    if not request.windows:
        if " " in root:
            yield "", "has a blank, which the build's makefiles cut in two"
        return
    if not root.isascii():
        yield "", "is not ASCII: nvcc and ninja fail there on some code pages"
    if root.startswith("\\\\"):
        yield "", "is on a server: cmd.exe cannot start there"
    length = len(root) + 1 + request.recipe.longest_path
    if length > _PATH_LIMIT and request.facts.system.long_paths is not True:
        limit = "and Windows' limit of 260 is in force"
        yield "build-path-too-long", f"makes paths of {length} characters, {limit}"


def _room(free: int | None, needed: int) -> Iterator[tuple[str, str]]:
    if free is not None and free < needed:
        needs = f"and the build needs about {needed / GIB:.1f}"
        yield "", f"has {free / GIB:.1f} GiB free, {needs}"


# --- the local version


def local_version(request: Request) -> str:
    """The requested label, or "cu130torch2.11", as makers of public Windows wheels write it.

    Raises:
        UserError: no wheel can be called so, which would come out hours later.
    """
    asked, torch = request.order.local_version, request.torch
    if asked is not None:
        return _checked(asked)
    if not request.recipe.needs_torch or torch is None or torch.cuda is None:
        return ""
    named = f"cu{torch.cuda.replace('.', '')}torch{series(torch.version) or torch.version}"
    return _OTHER.sub(".", named[:_LONGEST]).strip(".")


def _checked(asked: str) -> str:
    try:
        if len(asked) <= _LONGEST and Version(f"0+{asked}").local:
            return asked
    except InvalidVersion:
        pass
    raise UserError(
        f"{asked[:_LONGEST]!r} is not a valid local version",
        "Take letters, digits and dots: --local-version cu128torch2.9",
    )


# --- the compiler cache


def compiler_cache(
    request: Request, toolkit: Toolkit | None, layout: Layout
) -> Choice[dict[str, str]]:
    """Variables by which the cache on PATH answers for nvcc; empty where there is none.

    sccache is preferred, since it knows nvcc on every system. It compiles in a server. Each build
    gets one of its own, which is a process of the build: its memory counts, and it ends with the
    build. The C++ compiler is left alone: torch takes `ccache g++` for a compiler too old for CUDA.
    """
    caches = [path for name in _CACHES for path in request.host.executables(name)]
    wanted = request.order.compiler_cache and request.recipe.needs_torch
    if toolkit is None or not wanted or not caches:
        return Choice(value={})
    nvcc = Path(toolkit.path, "bin", "nvcc")
    against = {path: _against(path, nvcc, request, layout) for path in caches}
    cache = next((path for path in caches if against[path] is None), None)
    if cache is None:
        return _cached(caches[0], f"not used: {against[caches[0]]}", {})
    environment = {_NVCC: f"{cache} {nvcc}"}
    if cache.stem == "sccache":
        port = _FIRST_PORT + zlib.crc32(os.fsencode(str(layout.root))) % _PORTS
        environment["SCCACHE_SERVER_PORT"] = str(port)
    return _cached(cache, "it is on PATH", environment)


def _against(cache: Path, nvcc: Path, request: Request, layout: Layout) -> str | None:
    """The reason against this cache for this nvcc; None if it can be used."""
    if " " in f"{cache}{nvcc}":
        return "the path of a program has a blank"
    temporary = os.fsencode(str(layout.temp))
    if cache.stem == "sccache" and not request.windows and len(temporary) > _LONGEST_TEMPORARY:
        return f"a socket of its own has no room below {layout.root}; give a shorter --root"
    return None


def _cached(cache: Path, why: str, environment: dict[str, str]) -> Choice[dict[str, str]]:
    reason = Reason(name="cache", value=str(cache), reason=why, flag="--no-compiler-cache")
    return Choice(value=environment, reasons=(reason,))
