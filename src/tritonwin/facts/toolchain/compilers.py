"""C compilers outside of Visual Studio's own look-up, and the one that Triton would run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tritonwin.facts.packages import platlib
from tritonwin.facts.records import (
    Compiler,
    CompilerFamily,
    CompilerFlaw,
    CompilerSource,
    Interpreter,
)
from tritonwin.facts.toolchain.parts import in_order
from tritonwin.system.files import is_file, is_folder
from tritonwin.system.host import Host

_ON_PATH: tuple[CompilerFamily, ...] = ("cl", "gcc", "clang", "clang-cl", "zig")
_NEVER_SOUGHT = frozenset({"clang-cl", "zig"})
_CL_TARGETS = {"x64": "x64", "amd64": "x64", "x86": "x86", "arm64": "arm64", "bin": "x86"}


def find_compilers(target: Interpreter | None, host: Host) -> tuple[Compiler, ...]:
    """List every C compiler once, in the order of triton-windows' `_find_compiler("c")`.

    That order is: CC, taken as it stands; clang-cl of the ROCm wheels; cl.exe of an activated
    prompt (VCINSTALLDIR with VCToolsVersion); the TinyCC that lies in Triton; then cl, gcc and
    clang on PATH. clang-cl and zig on PATH are listed, though Triton does not look for them.
    Triton before 3.7.1 does not know the clang-cl of ROCm. CC that names no program has an
    entry with `flaw` and is chosen all the same: Triton fails on it rather than look further.
    Only absolute entries of PATH count, and only programs of exactly these names, so that the
    editor "Microsoft VS Code" is no compiler.
    """
    return in_order(
        _candidates(target, host),
        lambda compiler: Path(compiler.path),
        lambda compiler: compiler,
        lambda _, compiler: compiler.source != "PATH" or compiler.family not in _NEVER_SOUGHT,
    )


def _found(
    path: Path, family: CompilerFamily, source: CompilerSource, flaw: CompilerFlaw | None = None
) -> Compiler:
    # ...\\bin\\Hostx64\\x86\\cl.exe: the host, then the target; nothing is started
    target = _CL_TARGETS.get(path.parent.name.lower()) if family == "cl" and not flaw else None
    return Compiler(family=family, path=str(path), source=source, target=target, flaw=flaw)


def _candidates(target: Interpreter | None, host: Host) -> Iterator[Compiler]:
    yield from _variable(host)
    brought = platlib(target) if target and host.windows else None
    if brought:
        clang_cl = brought / "_rocm_sdk_core" / "lib" / "llvm" / "bin" / "clang-cl.exe"
        if is_file(clang_cl):
            yield _found(clang_cl, "clang-cl", "ROCm wheels")
    vc = host.env.folder("VCINSTALLDIR")
    version = (host.env.get("VCToolsVersion") or "").strip()
    if vc and version:
        cl = vc / "Tools" / "MSVC" / version / "bin" / "Hostx64" / "x64" / "cl.exe"
        if is_file(cl):
            yield _found(cl, "cl", "activated Visual Studio prompt")
    if brought:
        tcc = brought / "triton" / "runtime" / "tcc" / "tcc.exe"
        if is_file(tcc):
            yield _found(tcc, "tinycc", "bundled with Triton")
    for family in _ON_PATH:
        for program in host.executables(family):
            yield _found(program, family, "PATH")


def _variable(host: Host) -> Iterator[Compiler]:
    """The program that CC names, as a process start reads it: with its quotes and blanks."""
    value = host.env.get("CC") or ""
    if not value.strip():
        return
    path = host.cwd / value
    with_end = path.with_name(f"{path.name}.exe") if path.name else path
    program: Path | None
    if "/" not in value and "\\" not in value:
        stem = value[:-4] if value.lower().endswith(".exe") else value
        program = next(iter(host.executables(stem)), None)
    else:
        program = path if is_file(path) or is_folder(path) else with_end if host.windows else None
    if program is None or not (is_file(program) or is_folder(program)):
        yield _found(Path(value), _family(path), "variable CC", "missing")
    elif is_folder(program):
        yield _found(program, "unknown", "variable CC", "folder")
    else:
        yield _found(program, _family(program), "variable CC")


def _family(program: Path) -> CompilerFamily:
    name = program.name.lower().removesuffix(".exe")
    exact: dict[str, CompilerFamily] = {"cl": "cl", "tcc": "tinycc", "cc": "gcc"}
    if name in exact:
        return exact[name]
    # the longer name first: clang-cl is not clang; x86_64-w64-mingw32-gcc and gcc-13 are gcc
    known: tuple[CompilerFamily, ...] = ("clang-cl", "clang", "gcc", "zig")
    return next((family for family in known if family in name), "unknown")
