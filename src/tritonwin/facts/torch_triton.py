"""The torch and the Triton that the target imports, read from their files.

Neither is ever imported. For Triton the version string decides nothing, since builds are patched,
mixed and renamed: the rules of `patch` judge the structure of its sources.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name

from tritonwin.facts.distributions import read_requirement
from tritonwin.facts.packages import find_package, knowledge
from tritonwin.facts.records import Distribution, Interpreter, Torch, Triton
from tritonwin.facts.toolchain.rocm import torch_chips
from tritonwin.system.files import as_text, first_file, is_file, paths_in, read_text


def read_torch(target: Interpreter, distributions: Iterable[Distribution]) -> Torch | None:
    """Version, CUDA build and wanted Triton of the target's torch; None when it has none.

    The Triton that belongs to it stands in torch's own metadata, on Windows too, under a marker
    that excludes Windows: the marker is ignored here, the version is what counts.
    """
    folder = find_package(target, "torch")
    if folder is None or not is_file(folder / "__init__.py"):
        return None
    site_packages = str(folder.parent)
    distribution = next(
        (d for d in distributions if d.name == "torch" and d.site_packages == site_packages), None
    )
    version_file = folder / "version.py"
    names = _constants(version_file)
    version = names.get("__version__") or (distribution.version if distribution else None)
    if version is None:
        return None
    wants = _triton_requirement(distribution.requires) if distribution else None
    return Torch(
        version=version,
        location=str(folder),
        source=str(version_file if "__version__" in names else folder),
        cuda=names.get("cuda"),
        hip=names.get("hip"),
        xpu=names.get("xpu"),
        chips=torch_chips(folder.parent) if names.get("hip") else (),
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


_CONSTANT = re.compile(r"^(\w+)[ \t]*(?::[^=\n]{1,80})?=[ \t]*['\"]([^'\"\n]*)['\"]", re.MULTILINE)
_NVIDIA = Path("backends", "nvidia")
_TINYCC = Path("runtime", "tcc")
# the import hook of `tritonwin patch`, and the file with the line that starts it
HOOK, HOOK_START = "_tritonwin_hook.py", "tritonwin-hook.pth"
# how the line of a hook begins that tells one from another, and how its last line ends
HOOK_SETTINGS, _HOOK_END = "SETTINGS: dict[str, Any] = ", "    finder = start()\n"
# with these, its helper modules are linked against python3.dll, not against the DLL of one Python
_STABLE_ABI = re.compile(r"""\[\s*["']python3["']\s*\]""")
_FOR_WINDOWS = re.compile(r"""\bos\.name == ["']nt["']|\bplatform\.system\(\) == ["']Windows["']""")
_BUILD, _DRIVER = "runtime/build.py", "backends/nvidia/driver.py"


def read_triton(target: Interpreter, distributions: Iterable[Distribution]) -> Triton | None:
    """Flavour, bundled tools and defects of the target's Triton; None when it has none.

    What an uninstall leaves behind, a folder without `__init__.py`, is given too: Python imports
    it as an empty package.
    """
    package = find_package(target, "triton")
    if package is None:
        return None
    hook, driver = _import_hook(target)
    # the name that Python on Windows loads is preferred
    binaries = sorted(paths_in(package / "_C", "libtriton*"), key=lambda p: p.suffix != ".pyd")
    libtriton = next((p for p in binaries if p.suffix in {".pyd", ".so"} and is_file(p)), None)
    # doctor on a snapshot needs the names alone: pefile is slow to import
    from tritonwin.facts.dlls.pe import read_pe
    from tritonwin.facts.toolchain.cuda import banner_version
    from tritonwin.patch.rules import FILES

    texts = ((file, read_text(package / file)) for file in FILES)
    sources = {file: text.replace("\r\n", "\n") for file, text in texts if text is not None}
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
        tinycc_python_def=_has_python_def(tinycc, target, sources) if tinycc else None,
        defects=() if hook else _defects(sources, is_fork=is_fork(package)),
        patched=any("tritonwin:" in text for text in sources.values()),
        for_windows=any(_FOR_WINDOWS.search(sources.get(f, "")) for f in (_BUILD, _DRIVER)),
        namespace=not is_file(package / "__init__.py"),
        import_hook=as_text(hook),
        python_driver=as_text(driver),
    )


def _defects(sources: dict[str, str], *, is_fork: bool) -> tuple[str, ...]:
    """The rules that are needed, in their order."""
    from tritonwin.patch.edits import Source
    from tritonwin.patch.engine import judge
    from tritonwin.patch.rules import RULES

    parsed = {file: Source(text) for file, text in sources.items()}
    here = (rule for rule in RULES if rule.file in parsed)
    flavour: Literal["fork", "upstream"] = "fork" if is_fork else "upstream"
    return tuple(r.id for r in here if judge(r, parsed[r.file], flavour).state == "needed")


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


def _has_python_def(tinycc: Path, target: Interpreter, sources: dict[str, str]) -> bool | None:
    """True if TinyCC has the list of exports of the Python DLL that this Triton links."""
    if target.version is None:
        return None
    major, minor, *_ = target.version.split(".")
    digits = major if _STABLE_ABI.search(sources.get(_BUILD, "")) else major + minor
    suffix = "t" if target.free_threaded else ""
    return is_file(tinycc.parent / "lib" / f"python{digits}{suffix}.def")
