"""Microsoft's C++ toolsets, side by side, and the one that triton-windows would take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath

from tritonwin.facts.model import MsvcToolset
from tritonwin.facts.toolchain.precedence import in_order
from tritonwin.facts.toolchain.vswhere import Instance, find_instances, product_name
from tritonwin.system.files import (
    is_file,
    is_folder,
    names_in,
    version_key,
)
from tritonwin.system.host import Host

_CL = "bin/Hostx64/x64/cl.exe"
_TRITON_ASKS = (_CL, "include/vcruntime.h", "lib/x64/vcruntime.lib")
TOOLSET_PARTS = (*_TRITON_ASKS, "include/omp.h", "lib/x64/msvcrt.lib", "lib/x64/libcmt.lib")
_NO_TOOLS = "VC\\Tools\\MSVC"


@dataclass(frozen=True)
class _Found:
    folder: Path
    instance: Instance
    unreachable: str = ""


def find_msvc(host: Host) -> tuple[MsvcToolset, ...]:
    """List every toolset once, in the order of triton-windows' `find_msvc()`.

    That order is: VCINSTALLDIR with VCToolsVersion (an activated prompt; without the latter
    Triton dies of a TypeError, so nothing is taken from it here); the instances of vswhere, the
    newest first; PATH; Program Files. Within an instance the highest version comes first.
    VCToolsInstallDir, which Triton does not read, is listed too. An instance without the C++
    tools has an entry with an empty version and `missing=("VC\\Tools\\MSVC",)`.

    `chosen` is the first toolset with `Hostx64\\x64\\cl.exe`, `vcruntime.h` and
    `vcruntime.lib`, which is all that Triton asks for; `missing` names more, for what torch and
    builds need. Whether Triton uses MSVC at all is up to `find_compilers`.
    """
    return in_order(_candidates(host), lambda found: found.folder, _judge)


def _describe(found: _Found) -> MsvcToolset:
    folder, instance = found.folder, found.instance
    vcvarsall = instance.path / "VC" / "Auxiliary" / "Build" / "vcvarsall.bat"
    compiler = folder / _CL
    has_compiler = is_file(compiler)
    no_tools = folder == instance.path
    absent = (str(PureWindowsPath(p)) for p in TOOLSET_PARTS if not is_file(folder / p))
    return MsvcToolset(
        version="" if no_tools else folder.name,
        path=str(folder),
        compiler=str(compiler) if has_compiler else None,
        english=is_folder(compiler.parent / "1033") if has_compiler else None,
        instance=str(instance.path),
        product=instance.product,
        source=instance.source,
        vcvarsall=str(vcvarsall) if is_file(vcvarsall) else None,
        missing=(_NO_TOOLS,) if no_tools else tuple(absent),
    )


def _judge(found: _Found, taken: MsvcToolset | None) -> MsvcToolset:
    toolset = _describe(found)
    if not toolset.version:
        return replace(toolset, reason="Visual Studio without its C++ tools")
    asked = {str(PureWindowsPath(part)) for part in _TRITON_ASKS}
    lacking = [part for part in toolset.missing if part in asked]
    if lacking:
        return replace(toolset, reason=f"passed over: no {', no '.join(lacking)}")
    if found.unreachable:
        return replace(toolset, reason=found.unreachable)
    if taken:
        return replace(toolset, reason=f"{taken.path} comes first")
    return replace(toolset, chosen=True, reason=f"the first complete one, by {toolset.source}")


def _candidates(host: Host) -> Iterator[_Found]:
    yield from _variables(host)
    instances = find_instances(host)
    yield from _toolsets(i for i in instances if i.source == "vswhere")
    yield from _toolsets(_on_path(host))
    yield from _toolsets(i for i in instances if i.source != "vswhere")


def _variables(host: Host) -> Iterator[_Found]:
    version = (host.env.get("VCToolsVersion") or "").strip()
    vc = host.env.folder("VCINSTALLDIR")
    if vc and version:
        instance = _instance_of(vc, "variable VCINSTALLDIR")
        yield _Found(vc / "Tools" / "MSVC" / version, instance)
    tools = host.env.folder("VCToolsInstallDir")
    if tools:
        yield _Found(
            tools,
            _instance_of(_vc_above(tools), "variable VCToolsInstallDir"),
            unreachable="Triton reads VCINSTALLDIR and VCToolsVersion, not VCToolsInstallDir",
        )


def _on_path(host: Host) -> Iterator[Instance]:
    for entry in host.env.path_entries():
        if any(
            p.name.upper() == "MSVC" and p.parent.name.upper() == "TOOLS" for p in entry.parents
        ):
            msvc = next(p for p in entry.parents if p.name.upper() == "MSVC")
            yield _instance_of(msvc.parent.parent, "PATH")


def _toolsets(instances: Iterator[Instance]) -> Iterator[_Found]:
    for instance in instances:
        tools = instance.path / "VC" / "Tools" / "MSVC"
        versions = sorted(
            (name for name in names_in(tools) if version_key(name)), key=version_key, reverse=True
        )
        unfinished = "" if instance.complete else "the installation of this instance is unfinished"
        for version in versions:
            yield _Found(tools / version, instance, unfinished)
        if not versions and is_folder(instance.path):
            yield _Found(instance.path, instance)


def _vc_above(toolset: Path) -> Path:
    """`...\\VC` of `...\\VC\\Tools\\MSVC\\14.44.35207`."""
    return toolset.parent.parent.parent


def _instance_of(vc: Path, source: str) -> Instance:
    path = vc.parent
    return Instance(path=path, product=product_name(path), source=source)
