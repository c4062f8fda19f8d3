"""C and C++ compilers: the one Triton would start, and Visual Studio's for torch.compile."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import pairwise

from tritonwin.facts.records import Compiler, Facts, MsvcToolset
from tritonwin.problems.check import (
    NotApplicable,
    Seen,
    check,
    need,
    need_target,
    need_torch,
    need_triton,
    seen,
)
from tritonwin.support import matrix
from tritonwin.support.versions import older

# Read by cl and link before their command line.
_OPTION_VARIABLES = ("CL", "_CL_", "LINK", "_LINK_", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def _usable(facts: Facts) -> list[Compiler]:
    return [c for c in facts.compilers if c.flaw is None]


def _msvc(facts: Facts) -> list[MsvcToolset]:
    return [t for t in facts.msvc if t.compiler]


def _none_found(facts: Facts) -> bool:
    """True where Triton's own search ends without a compiler, not even a wrong CC."""
    return not any(c.chosen for c in facts.compilers)


def _too_old_for_tinycc(facts: Facts) -> bool:
    triton = need_triton(facts)
    owner = facts.distribution(triton.distribution or "")
    return older(owner.version if owner else None, matrix.load().tinycc_since)


@check("no-c-compiler")
def no_c_compiler(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    # before TinyCC was bundled, Triton looked for Visual Studio by itself
    if facts.windows and (_msvc(facts) or not _too_old_for_tinycc(facts)):
        return
    if _none_found(facts):
        text = (
            f"Triton {triton.version} is from before a compiler was bundled"
            if facts.windows
            else "Triton needs gcc or clang"
        )
        yield seen(f"{text}, and none was found", triton.location)


@check("cc-and-toolchain-absent")
def toolchain_absent(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    if _none_found(facts) and not _too_old_for_tinycc(facts):
        text, where = "no TinyCC lies in Triton's package", triton.location
        if triton.tinycc:
            # triton-windows asks sysconfig, which knows no user's site and no editable install
            text = (
                f"Triton looks for its TinyCC in this folder only, and it lies in {triton.tinycc}"
            )
            where = need_target(facts).platlib or triton.location
        yield seen(f"{text}; no other C compiler was found either", where)


@check("cc-variable-wrong")
def cc_variable(facts: Facts) -> Iterator[Seen]:
    variable = need(facts.variable("CC"), "CC is not set")
    need(variable.value, "CC is not set")
    named = next((c for c in facts.compilers if c.source == "variable CC"), None)
    reason: str | None = None
    if ";" in variable.value:
        reason = "it holds a semicolon; CC is one path, not a list"
    elif "trailing-blank" in variable.flaws or "quotes" in variable.flaws:
        reason = "its value has stray blanks or quotes"
    elif named is None or named.flaw == "missing":
        reason = "no such program exists"
    elif named.flaw == "folder":
        reason = "it names a folder, not a program"
    elif named.family == "cl" and facts.variable("INCLUDE") is None:
        reason = "it forces Microsoft's compiler, whose INCLUDE and LIB are not set"
    if reason:
        yield seen(f'CC is "{variable.value}": {reason}', variable)


@check("msvc-env-not-initialised")
def msvc_environment(facts: Facts) -> Iterator[Seen]:
    for have, lacks in (
        ("WindowsSdkDir", "WindowsSDKVersion"),
        ("VCINSTALLDIR", "VCToolsVersion"),
        ("VCINSTALLDIR", "WindowsSdkDir"),
    ):
        variable = facts.variable(have)
        missing = facts.variable(lacks)
        if variable and not (missing and missing.value.strip("\\ ")):
            yield seen(
                f"{have} is set and {lacks} is not: half of Visual Studio's environment",
                f"variable {have}",
                variable=lacks,
            )
            return
    on_path = next((c for c in _usable(facts) if c.family == "cl" and c.source == "PATH"), None)
    if on_path and facts.variable("INCLUDE") is None:
        yield seen(
            "cl.exe is on PATH, but INCLUDE is not set: it would find no header",
            on_path.path,
            severity="warning",
            path=on_path.path,
        )


@check("vs-components-missing")
def vs_components(facts: Facts) -> Iterator[Seen]:
    need(facts.msvc, "no Visual Studio was found")
    if all(t.missing for t in facts.msvc):
        toolset = facts.msvc[0]
        yield seen(
            f"{toolset.product}: {', '.join(toolset.missing[:4])} not installed",
            toolset.path,
            toolset=toolset.version,
        )
    elif not any(not s.missing for s in facts.windows_sdks):
        lacking = facts.windows_sdks[0] if facts.windows_sdks else None
        yield seen(
            f"Windows SDK {lacking.version} lacks {', '.join(lacking.missing[:4])}"
            if lacking
            else f"{facts.msvc[0].product} is installed, but no Windows SDK",
            lacking.path if lacking else facts.msvc[0].instance,
            toolset=facts.msvc[0].version,
        )


@check("x86-toolchain")
def x86_toolchain(facts: Facts) -> Iterator[Seen]:
    target = facts.variable("VSCMD_ARG_TGT_ARCH")
    if target and target.value.strip().lower() == "x86":
        yield seen("this is the environment of the x86 prompt", target)
    cl = next((c for c in _usable(facts) if c.family == "cl"), None)
    if cl and cl.target == "x86":
        yield seen("the first cl.exe makes 32-bit programs", cl.path)


@check("inductor-needs-cl")
def inductor_cl(facts: Facts) -> Iterator[Seen]:
    need_torch(facts)
    if not _msvc(facts) and not any(c.family in {"cl", "clang-cl"} for c in _usable(facts)):
        yield seen(
            "no Visual C++ was found; torch.compile needs it for code that runs on the CPU",
            "Visual Studio Installer, PATH",
        )


@check("msvc-localised-output")
def localised(facts: Facts) -> Iterator[Seen]:
    toolsets = need(_msvc(facts), "no Visual C++ was found")
    chosen = next((t for t in toolsets if t.chosen), toolsets[0])
    if chosen.english is False:
        yield seen(
            "Visual C++ is installed without its English language pack",
            chosen.compiler or chosen.path,
            toolset=chosen.version,
        )


@check("path-with-spaces-unquoted")
def unquoted_blanks(facts: Facts) -> Iterator[Seen]:
    variables = [v for n in _OPTION_VARIABLES if (v := facts.variable(n)) is not None]
    need(variables, "no compiler option variable is set")
    for variable in variables:
        if cut := _cut_path(variable.value):
            text = f"{variable.name} holds a path that is cut at its blank: {cut}"
            yield seen(text, variable)


def _cut_path(options: str) -> str | None:
    """The rest of a path after an unquoted blank, or None."""
    words = re.findall(r'"[^"]*"|\S+', re.sub(r'(?<!\S)\S*"[^"]*"\S*', '""', options))
    for word, following in pairwise(words):
        holds_path = re.search(r"[A-Za-z]:[\\/]", word)
        continues = "\\" in following and not re.match(r'[-/@"]|[A-Za-z]:', following)
        if holds_path and continues:
            return f"{word} {following}"
    return None


@check("tinycc-path-letters")
def tinycc_path(facts: Facts) -> Iterator[Seen]:
    """TinyCC's own folder and Python's headers: both reach it as text in the ANSI code page."""
    triton = need_triton(facts)
    taken = any(c.chosen and c.family == "tinycc" for c in facts.compilers)
    need(taken, "TinyCC is not the compiler that Triton takes")
    page = f"cp{facts.system.ansi_code_page}"
    try:
        codecs.lookup(page)
    except LookupError:
        raise NotApplicable("the code page of Windows is not known") from None
    headers = facts.python_dev.headers if facts.python_dev else None
    for what, path in (("TinyCC lies in", triton.tinycc), ("Python's headers lie in", headers)):
        # Windows would put `?` or a similar letter in the place of these
        lacking = (c for c in path or "" if not c.encode(page, "ignore"))
        if path and (letters := "".join(dict.fromkeys(lacking))):
            text = f"{what} a folder whose name holds {letters}, which code page {page[2:]} has not"
            yield seen(text, path, value=letters)
