"""The torch and the Triton that the target imports, read from their files.

Neither is ever imported. For Triton the version string decides nothing, since builds are patched,
mixed and renamed: structural traits of its sources (`triton_traits.toml`) are searched in the
part of each source that Windows sees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tritonwin.facts.distributions import read_requirement
from tritonwin.facts.packages import find_package, knowledge
from tritonwin.facts.records import Distribution, Interpreter, Torch, Triton
from tritonwin.facts.toolchain.rocm import torch_chips
from tritonwin.facts.windows_view import windows_view
from tritonwin.system.files import as_text, first_file, is_file, paths_in, read_text
from tritonwin.system.toml import read_resource


def read_torch(target: Interpreter, distributions: Iterable[Distribution]) -> Torch | None:
    """Version, CUDA build and wanted Triton of the target's torch; None when it has none.

    The Triton that belongs to it stands in torch's own metadata, on Windows too, under a marker
    that excludes Windows: the marker is ignored here, the version is what counts.
    """
    folder = find_package(target, "torch")
    if folder is None or folder.namespace:
        return None
    site_packages = str(folder.path.parent)
    distribution = next(
        (d for d in distributions if d.name == "torch" and d.site_packages == site_packages), None
    )
    version_file = folder.path / "version.py"
    names = _constants(version_file)
    version = names.get("__version__") or (distribution.version if distribution else None)
    if version is None:
        return None
    wants = _triton_requirement(distribution.requires) if distribution else None
    return Torch(
        version=version,
        location=str(folder.path),
        source=str(version_file if "__version__" in names else folder.path),
        cuda=names.get("cuda"),
        hip=names.get("hip"),
        xpu=names.get("xpu"),
        chips=torch_chips(folder.path.parent) if names.get("hip") else (),
        wants_triton=wants,
        wants_triton_source=f"{distribution.location}: METADATA"
        if distribution and wants
        else None,
    )


def _constants(path: Path) -> dict[str, str]:
    """The names that a module of assignments gives a string."""
    return dict(_CONSTANT.findall(read_text(path) or ""))


def _triton_requirement(requires: Iterable[str]) -> str | None:
    """The version specifier of the Triton requirement, whatever its marker: "==3.5.1"."""
    found: dict[str, str] = {}
    for requirement in filter(None, map(read_requirement, requires)):
        found.setdefault(canonicalize_name(requirement.name), str(requirement.specifier))
    return next((found[name] for name in knowledge().triton if found.get(name)), None)


@dataclass(frozen=True, kw_only=True)
class Trait:
    """A mark to search for. `blocks`: no kernel compiles or launches on Windows with it."""

    id: str
    files: tuple[str, ...]  # relative to the package; the trait is there if any of them has it
    pattern: str  # regular expressions, multi-line mode
    unless: str | None = None  # found anywhere in the same file: the trait is not there
    raw: bool = False  # search the file as it is, other systems' branches included
    blocks: bool
    meaning: str


@dataclass(frozen=True, kw_only=True)
class TraitTable:
    """The content of `triton_traits.toml`."""

    trait: tuple[Trait, ...]


@dataclass(frozen=True, kw_only=True)
class TraitHit:
    """The place of a trait: a file relative to the package, and a line counted from 1."""

    id: str
    file: str
    line: int


@cache
def triton_traits() -> tuple[Trait, ...]:
    """Every known trait, in the order of the data file."""
    return read_resource("tritonwin.facts", "triton_traits.toml", TraitTable).trait


def read_sources(package: Path) -> dict[str, str]:
    """The sources that traits are searched in, by path relative to the package folder."""
    names = dict.fromkeys(name for trait in triton_traits() for name in trait.files)
    texts = {name: read_text(package / name) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def find_traits(sources: Mapping[str, str]) -> tuple[TraitHit, ...]:
    """The traits of these sources, each once, at its first place."""
    views: dict[str, str] = {}
    hits = (_find(trait, sources, views) for trait in triton_traits())
    return tuple(hit for hit in hits if hit is not None)


def _find(trait: Trait, sources: Mapping[str, str], views: dict[str, str]) -> TraitHit | None:
    for name in trait.files:
        text = sources.get(name, "")
        if not re.search(trait.pattern, text, re.MULTILINE):
            continue  # a view only takes away, and it costs a parse
        if not trait.raw:
            if name not in views:
                views[name] = windows_view(name, text)
            text = views[name]
        match = re.search(trait.pattern, text, re.MULTILINE)
        if match and not (trait.unless and re.search(trait.unless, text, re.MULTILINE)):
            line = text.count("\n", 0, match.start()) + 1
            return TraitHit(id=trait.id, file=name, line=line)
    return None


_CONSTANT = re.compile(r"^(\w+)[ \t]*(?::[^=\n]{1,80})?=[ \t]*['\"]([^'\"\n]*)['\"]", re.MULTILINE)
_NVIDIA = Path("backends", "nvidia")
_TINYCC = Path("runtime", "tcc")
# the import hook of `tritonwin patch`, and the file with the line that starts it
HOOK, HOOK_START = "_tritonwin_hook.py", "tritonwin-hook.pth"
# how the line of a hook begins that tells one from another, and how its last line ends
HOOK_SETTINGS, _HOOK_END = "SETTINGS: dict[str, Any] = ", "    finder = start()\n"
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
    hook, driver = _import_hook(target)
    hits = find_traits(read_sources(package))
    hits = tuple(hit for hit in hits if hook is None or hit.id in _NOT_PATCHED)
    traits = tuple(hit.id for hit in hits)
    libtriton = _libtriton(package)
    # doctor on a snapshot needs the traits alone: pefile is slow to import
    from tritonwin.facts.dlls.pe import read_pe
    from tritonwin.facts.toolchain.cuda import banner_version

    image = read_pe(libtriton) if libtriton else None
    ptxas = first_file(package / _NVIDIA, ("bin/ptxas.exe", "bin/ptxas"))
    blackwell = ("bin/ptxas-blackwell.exe", "bin/ptxas-blackwell")
    tinycc = first_file(package / _TINYCC, ("tcc.exe",))
    owner = _owner(package, distributions)
    return Triton(
        version=version_of(package),
        location=str(package),
        source=owner.location if owner else str(package),
        flavour="fork"
        if is_fork(package)
        else "upstream"
        if is_file(package / "runtime" / "build.py")
        else "unknown",
        distribution=owner.name if owner else None,
        libtriton=as_text(libtriton),
        libtriton_imports=image.imports if image else (),
        libtriton_linker=image.linker if image else None,
        ptxas=as_text(ptxas),
        ptxas_version=banner_version(ptxas) if ptxas else None,
        ptxas_blackwell=as_text(first_file(package / _NVIDIA, blackwell)),
        hip_headers=is_file(package / "backends" / "amd" / "include" / "hip" / "hip_runtime.h"),
        tinycc=as_text(tinycc),
        tinycc_python_def=_has_python_def(tinycc, target, traits) if tinycc else None,
        traits=traits,
        trait_places={hit.id: f"{hit.file}:{hit.line}" for hit in hits},
        namespace=folder.namespace,
        import_hook=as_text(hook),
        python_driver=as_text(driver),
    )


def version_of(package: Path) -> str | None:
    """`__version__` of a Triton's package folder."""
    return _constants(package / "__init__.py").get("__version__")


def is_fork(package: Path) -> bool:
    """True for the sources of triton-windows, by a file that only they hold."""
    return is_file(package / "windows_utils.py")


def _owner(package: Path, distributions: Iterable[Distribution]) -> Distribution | None:
    """The distribution that the files belong to: where two claim the folder, the one whose
    RECORD describes more of what lies there. The folder of an editable one may be anywhere."""
    known = [d for d in distributions if d.name in knowledge().triton]
    claims = [d for d in known if d.site_packages == str(package.parent)]
    claims = claims or [d for d in known if d.editable]
    return min(claims, key=lambda d: len(d.missing_files) + len(d.altered_files), default=None)


def _import_hook(target: Interpreter) -> tuple[Path | None, Path | None]:
    """The hook that applies rules, and the one that carries the driver: one file may do both.

    Python starts it by its `.pth`; without that it does nothing.
    """
    folders = [Path(f) for f in (*target.site_packages, target.user_site or "") if f]
    found = next((f / HOOK for f in folders if is_file(f / HOOK) and is_file(f / HOOK_START)), None)
    if found is None or target.site_loaded is False:
        return None, None
    settings = hook_settings(read_text(found) or "") or {"choice": None, "driver": ()}
    return found if settings["choice"] else None, found if settings["driver"] else None


def hook_settings(text: str) -> dict[str, Any] | None:
    """The settings of an import hook; None for one that was cut short or spoilt."""
    line = next((line for line in text.split("\n") if line.startswith(HOOK_SETTINGS)), "")
    if _HOOK_END not in text:
        return None
    try:
        found = ast.literal_eval(line.removeprefix(HOOK_SETTINGS))
        return found if {"choice", "driver", "modules"} <= found.keys() else None
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError, MemoryError):
        return None


def _libtriton(package: Path) -> Path | None:
    """The binary; the name that Python on Windows loads is preferred."""
    found = sorted(paths_in(package / "_C", "libtriton*"), key=lambda p: p.suffix != ".pyd")
    return next((p for p in found if p.suffix in {".pyd", ".so"} and is_file(p)), None)


def _has_python_def(tinycc: Path, target: Interpreter, traits: tuple[str, ...]) -> bool | None:
    """True if TinyCC has the list of exports of the Python DLL that this Triton links."""
    if target.version is None:
        return None
    major, minor, *_ = target.version.split(".")
    digits = major if "stable-abi-link" in traits else major + minor
    suffix = "t" if target.free_threaded else ""
    return is_file(tinycc.parent / "lib" / f"python{digits}{suffix}.def")
