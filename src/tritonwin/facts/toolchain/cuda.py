"""CUDA toolkits of a target and its machine, and which of them Triton would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tritonwin.facts.model import CudaToolkit, Interpreter
from tritonwin.facts.packages import platlib
from tritonwin.facts.toolchain.cuda_layout import KERNEL_PARTS, Place, describe
from tritonwin.facts.toolchain.precedence import in_order
from tritonwin.system.files import is_file, is_folder, names_in, version_key
from tritonwin.system.host import Host


def find_cuda_toolkits(target: Interpreter | None, host: Host) -> tuple[CudaToolkit, ...]:
    """List every toolkit once, in the order of triton-windows' `find_cuda()`.

    That order is: the variables CUDA_PATH and CUDA_HOME; the one bundled with Triton; the wheels
    of CUDA 12 in `nvidia`; conda's `Library`; Program Files. Places that Triton does not look at
    (the wheels of CUDA 13, Program Files\\...\\v13.x, nvcc on PATH) stand beside their like with
    that reason. A variable that names no folder is listed with `exists=False`. `chosen` is the
    first that Triton finds complete for compiling kernels; on Linux it uses only its own.
    """
    there = (p for p in _places(target, host) if p.named or is_folder(p.path))
    judge = partial(_judge, windows=host.windows)
    return in_order(there, lambda place: place.path, judge)


def _judge(place: Place, taken: CudaToolkit | None, *, windows: bool) -> CudaToolkit:
    toolkit = describe(place, windows=windows)
    lacking = [part for part in toolkit.missing if part in KERNEL_PARTS]
    if not toolkit.exists:
        what = "is a file" if is_file(place.path) else "does not exist"
        return replace(toolkit, reason=f"the folder that the variable names {what}")
    if lacking:
        return replace(toolkit, reason=f"passed over: no {', no '.join(lacking)}")
    if place.unreachable:
        return replace(toolkit, reason=place.unreachable)
    if taken:
        return replace(toolkit, reason=f"{taken.path} comes first")
    return replace(toolkit, chosen=True, reason="the first that holds all that a kernel needs")


def _places(target: Interpreter | None, host: Host) -> Iterator[Place]:
    yield from _variables(host)
    if target:
        yield from _site_packages(target)
        yield from _conda(target, host)
    yield from _program_files(host) if host.windows else _usr_local()
    yield from _on_path(host)


def _variables(host: Host) -> Iterable[Place]:
    for name in ("CUDA_PATH", "CUDA_HOME"):
        folder = host.env.folder(name)
        if folder is None:
            continue
        unreachable = ""
        if not host.windows:
            unreachable = "Triton on Linux uses the toolkit that it brings along"
        elif '"' in (host.env.get(name) or ""):
            unreachable = f"{name} has quotes in it, which Triton takes for part of the name"
        yield Place(folder, f"variable {name}", unreachable=unreachable, named=True)


def _site_packages(target: Interpreter) -> Iterable[Place]:
    folders = [Path(folder) for folder in target.site_packages]
    sought = platlib(target)

    def unreachable(folder: Path) -> str:
        return "" if folder == sought else f"Triton looks for its tools in {sought} only"

    for folder in folders:
        bundled = folder / "triton" / "backends" / "nvidia"
        # Other packages leave a folder of that name as well; without bin it is no toolkit.
        if is_folder(bundled / "bin"):
            yield Place(bundled, "bundled with Triton", "bundled", unreachable=unreachable(folder))
    for folder in folders:
        nvidia = folder / "nvidia"
        if is_folder(nvidia / "cuda_nvcc") or is_folder(nvidia / "cuda_runtime"):
            yield Place(nvidia, "wheels of CUDA 12", "pip-cu12", unreachable=unreachable(folder))
    for folder in folders:
        yield Place(
            folder / "nvidia" / "cu13",
            "wheels of CUDA 13",
            "pip-cu13",
            unreachable="Triton does not look here unless CUDA_PATH names it",
        )


def _conda(target: Interpreter, host: Host) -> Iterable[Place]:
    root = Path(target.prefix) if target.prefix else None
    if root and is_folder(root / "conda-meta"):
        folder = root / "Library" if host.windows else root
        if any(name.startswith(("nvcc", "ptxas")) for name in names_in(folder / "bin")):
            yield Place(folder, "conda environment", "conda")


def _program_files(host: Host) -> Iterable[Place]:
    for root in host.program_files():
        parent = root / "NVIDIA GPU Computing Toolkit" / "CUDA"
        for name in sorted(names_in(parent), key=version_key, reverse=True):
            other = not name.startswith("v12")
            yield Place(
                parent / name,
                "Program Files",
                "system",
                unreachable="Triton looks for v12.* only; set CUDA_PATH to use it" if other else "",
            )


def _usr_local() -> Iterable[Place]:
    parent = Path("/usr/local")
    names = (name for name in names_in(parent) if name.startswith("cuda"))
    for name in sorted(names, key=version_key, reverse=True):
        yield Place(
            parent / name,
            "/usr/local",
            "system",
            unreachable="Triton on Linux uses the toolkit that it brings along",
        )


def _on_path(host: Host) -> Iterable[Place]:
    """torch takes the toolkit of the first nvcc on PATH when no variable names one."""
    for program in host.executables("nvcc"):
        yield Place(
            program.parent.parent,
            "nvcc on PATH",
            unreachable="Triton does not look at PATH; torch's extension builds do",
        )
