"""The `triton` folder that the target imports: whose it is, and what it carries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.model import Distribution, Interpreter, Triton
from tritonwin.facts.packages import PackageFolder, find_package, knowledge
from tritonwin.facts.toolchain.cuda_versions import banner_version, header_version
from tritonwin.facts.triton_sources import find_traits, read_sources
from tritonwin.system.files import is_file, paths_in, read_text

_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)", re.MULTILINE)
_NVIDIA = Path("backends", "nvidia")
_TINYCC = Path("runtime", "tcc")
# the import hook of `tritonwin patch`, and the file with the line that starts it
HOOK, HOOK_START = "_tritonwin_hook.py", "tritonwin-hook.pth"
# marks of what no rule of the patch changes: with the hook these stay
_NOT_PATCHED = {"windows-branches", "cuda-12-folders-only", "stable-abi-link", "nvcuda-library"}


def read_triton(target: Interpreter, distributions: Iterable[Distribution]) -> Triton | None:
    """Flavour, bundled tools and source traits of the target's Triton; None when it has none.

    What an uninstall leaves behind, a folder without `__init__.py`, is given too: Python imports
    it as an empty package.
    """
    folder = find_package(target, "triton")
    if folder is None:
        return None
    package = folder.path
    hook = _import_hook(target)
    hits = find_traits(read_sources(package))
    hits = tuple(hit for hit in hits if hook is None or hit.id in _NOT_PATCHED)
    traits = tuple(hit.id for hit in hits)
    libtriton = _libtriton(package)
    image = read_pe(libtriton) if libtriton else None
    ptxas = _existing(package / _NVIDIA / "bin" / "ptxas.exe", package / _NVIDIA / "bin" / "ptxas")
    header = _existing(package / _NVIDIA / "include" / "cuda.h")
    tinycc = _existing(package / _TINYCC / "tcc.exe")
    owner = _owner(package, distributions)
    return Triton(
        version=version_of(package),
        location=str(package),
        source=owner.location if owner else str(package),
        flavour=_flavour(folder),
        distribution=owner.name if owner else None,
        libtriton=_text(libtriton),
        libtriton_imports=image.imports if image else (),
        libtriton_linker=image.linker if image else None,
        ptxas=_text(ptxas),
        ptxas_version=banner_version(ptxas) if ptxas else None,
        ptxas_blackwell=_text(
            _existing(*(package / _NVIDIA / "bin" / f"ptxas-blackwell{e}" for e in (".exe", "")))
        ),
        cuda_header=_text(header),
        cuda_header_version=header_version(header) if header else None,
        cuda_library=_text(_existing(package / _NVIDIA / "lib" / "x64" / "cuda.lib")),
        tinycc=_text(tinycc),
        tinycc_python_def=_has_python_def(tinycc, target, traits) if tinycc else None,
        traits=traits,
        trait_places={hit.id: f"{hit.file}:{hit.line}" for hit in hits},
        backends=_backends(package),
        namespace=folder.namespace,
        import_hook=_text(hook),
    )


def version_of(package: Path) -> str | None:
    """`__version__` of a Triton's package folder."""
    match = _VERSION.search(read_text(package / "__init__.py") or "")
    return match[1] if match else None


def is_fork(package: Path) -> bool:
    """Whether these are the sources of triton-windows, by what only they hold."""
    return is_file(package / "windows_utils.py")


def _flavour(folder: PackageFolder) -> Literal["fork", "upstream", "unknown"]:
    if is_fork(folder.path):
        return "fork"
    return "upstream" if is_file(folder.path / "runtime" / "build.py") else "unknown"


def _owner(package: Path, distributions: Iterable[Distribution]) -> Distribution | None:
    """The distribution that the files belong to: where two claim the folder, the one whose
    RECORD describes more of what lies there. The folder of an editable one may be anywhere."""
    known = [d for d in distributions if d.name in knowledge().triton]
    claims = [d for d in known if d.site_packages == str(package.parent)]
    claims = claims or [d for d in known if d.editable]
    return min(claims, key=lambda d: len(d.missing_files) + len(d.altered_files), default=None)


def _import_hook(target: Interpreter) -> Path | None:
    """Where Python starts the hook from; without its `.pth` it is never started."""
    folders = [Path(f) for f in (*target.site_packages, target.user_site or "") if f]
    found = (f / HOOK for f in folders if is_file(f / HOOK) and is_file(f / HOOK_START))
    return next(found, None) if target.site_loaded is not False else None


def _libtriton(package: Path) -> Path | None:
    """The binary; the name that Python on Windows loads is preferred."""
    found = sorted(paths_in(package / "_C", "libtriton*"), key=lambda p: p.suffix != ".pyd")
    return next((p for p in found if p.suffix in {".pyd", ".so"} and is_file(p)), None)


def _has_python_def(tinycc: Path, target: Interpreter, traits: tuple[str, ...]) -> bool | None:
    """Whether TinyCC has the list of exports of the Python DLL that this Triton links."""
    if target.version is None:
        return None
    major, minor, *_ = target.version.split(".")
    digits = major if "stable-abi-link" in traits else major + minor
    suffix = "t" if target.free_threaded else ""
    return is_file(tinycc.parent / "lib" / f"python{digits}{suffix}.def")


def _backends(package: Path) -> tuple[str, ...]:
    return tuple(p.parent.name for p in paths_in(package / "backends", "*/driver.py"))


def _existing(*paths: Path) -> Path | None:
    return next((path for path in paths if is_file(path)), None)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
