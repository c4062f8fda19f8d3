"""The tools that Triton finds or is told to use, and what it builds with them."""

from __future__ import annotations

import glob
import inspect
import os
import re
import shutil
import subprocess
import sysconfig
from typing import Any

from probe_runner import KnownError, in_python, output_of

NOT_NEEDED = "not needed"


def ptxas(arch: int) -> tuple[str, str]:
    """Path and version of the ptxas that Triton takes for the architecture.

    Asked of `get_ptxas` (3.3, and again from 3.6 on), `_path_to_binary` (before) or the knobs.
    """
    from triton.backends.nvidia import compiler

    if hasattr(compiler, "get_ptxas"):
        # some forms of it take the architecture, for Blackwell has a ptxas of its own there
        takes = inspect.signature(compiler.get_ptxas).parameters
        found = compiler.get_ptxas(arch) if takes else compiler.get_ptxas()
    elif hasattr(compiler, "_path_to_binary"):
        found = compiler._path_to_binary("ptxas")
    else:
        from triton import knobs

        found = knobs.nvidia.ptxas
    path, version = found if isinstance(found, tuple) else (found.path, found.version)
    return path, version


def c_compiler() -> str | None:
    """The program that Triton starts for its C sources; None if it would find nothing."""
    from triton.runtime import build

    # the first is what `tritonwin patch` puts into sources that were made for Linux
    for name in ("_tritonwin_compiler", "_find_compiler", "get_cc"):
        ask = getattr(build, name, None)
        if ask is None:
            continue
        arguments = () if name == "get_cc" else ("c",)
        found = ask(*arguments)
        words = found if isinstance(found, (list, tuple)) else [found]
        return str(words[0]) if words and words[0] else None
    # upstream before 3.8 has no function for it
    return os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")


def driver_folders() -> list[str]:
    from triton.backends.nvidia import driver

    ask = getattr(driver, "libcuda_dirs", None) or getattr(driver, "library_dirs", None)
    return [str(folder) for folder in (ask() if ask else [])]


def trouble_with(compiler: str | None, assembler: str, arch: int) -> list[KnownError]:
    """Tools that a variable names and Triton does not use, or cannot."""
    found = []
    names = ["TRITON_PTXAS_BLACKWELL_PATH"] if arch >= 100 else []
    for variable in [*names, "TRITON_PTXAS_PATH"]:
        wanted = os.environ.get(variable)
        if wanted and not _same(wanted, assembler):
            state = "it does not use" if os.path.isfile(wanted) else "does not exist"
            text = f"{variable} names {wanted}, which {state}: Triton takes {assembler}"
            found.append(KnownError(text, "ptxas-path-variable-ignored"))
    if compiler == NOT_NEEDED:
        return found
    if compiler is None:
        found.append(KnownError("Triton finds no C compiler", "no-c-compiler"))
    elif not (os.path.isfile(compiler) or shutil.which(compiler)):
        text = f"the C compiler that Triton would start does not exist: {compiler}"
        found.append(KnownError(text, "cc-variable-wrong"))
    return found


def _same(one: str, other: str) -> bool:
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def tools(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    path, version = ptxas(arguments["arch"])
    from triton.backends.nvidia import driver

    compiler = NOT_NEEDED if in_python(driver) else c_compiler()
    trouble = trouble_with(compiler, path, arguments["arch"])
    if trouble:
        raise trouble[0]
    release = re.search(r"\d+\.\d+(?:\.\d+)?", str(version))
    include = sysconfig.get_paths()["include"]
    # without a driver, Triton's look-up ends in an assertion; that it is absent is no news
    needed = arguments["driver"] and not in_python(driver)
    folders = driver_folders() if needed else []
    return f"ptxas {release[0] if release else version}: {path}; compiler: {compiler}", {
        "ptxas": path,
        "ptxas version": release[0] if release else str(version),
        "compiler": str(compiler),
        "Python headers": include,
        "folders of the driver's library": os.pathsep.join(folders),
    }


# -- ptxas: a kernel in the PTX version that Triton would write

KERNEL = """\
.version {version}
.target {target}
.address_size 64
.visible .entry tritonwin_proof()
{{
  ret;
}}
"""
SECONDS = 60


def ptx_version(cuda: str) -> str:
    """Triton's own translation: "12.8" becomes "8.7"."""
    from triton.backends.nvidia.compiler import ptx_get_version

    number = ptx_get_version(cuda)
    return f"{number // 10}.{number % 10}"


def assemble(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    arch = arguments["arch"]
    path, named = ptxas(arch)
    release = re.search(r"\d+\.\d+", str(named))
    if not release:
        raise RuntimeError(f"{path} names no version: {named!r}")
    cuda = release[0]
    output_of([path, "--version"], SECONDS)
    version, target = ptx_version(cuda), f"sm_{arch}"
    source = os.path.join(arguments["scratch"], "proof.ptx")
    out = os.path.join(arguments["scratch"], "proof.cubin")
    with open(source, "w", encoding="ascii") as file:
        file.write(KERNEL.format(version=version, target=target))
    output_of([path, f"--gpu-name={target}", source, "-o", out], SECONDS)
    size = os.path.getsize(out)
    return f"CUDA {cuda} takes PTX {version} for {target}", {
        "ptxas": path,
        "CUDA": cuda,
        "PTX": version,
        "bytes": size,
    }


# -- what a launch needs beside the kernel


def is_of_cc(proven: str | None) -> bool:
    """True if Triton started the compiler of CC, and another one is known to work."""
    named = os.environ.get("CC")
    return bool(named and proven and os.path.realpath(named) != os.path.realpath(proven))


def helper_module(arguments: dict[str, Any]) -> str:
    from triton.backends.nvidia import driver

    try:
        driver.CudaUtils()
    except subprocess.CalledProcessError as error:
        if is_of_cc(arguments["compiler"]):
            text = f"CC names {os.environ['CC']}, which does not compile: {error}"
            raise KnownError(text, "cc-variable-wrong") from error
        raise
    if in_python(driver):
        return "nothing is built: Triton's driver runs in Python (tritonwin driver)"
    name = built("cuda_utils")
    if name is None:
        # it came from elsewhere: nothing was built, so nothing was shown
        raise RuntimeError(f"no helper module appeared in {os.environ['TRITON_CACHE_DIR']}")
    return f"{name} was built and loaded"


def built(name: str) -> str | None:
    """The file of a module of C in Triton's cache."""
    place = os.path.join(os.environ["TRITON_CACHE_DIR"], "*", f"*{name}*")
    found = [path for path in glob.glob(place) if "json" not in path]
    return os.path.basename(found[0]) if found else None


def launcher(arguments: dict[str, Any]) -> str:
    from compile_cubin import compiled_kernel, cuda
    from triton.backends.nvidia import driver

    source, compiled = compiled_kernel("add", cuda(arguments["arch"]))
    driver.CudaLauncher(source, compiled.metadata)
    if in_python(driver):
        return "a launch function in Python was made, nothing was built"
    name = built("launcher")
    if name:
        return f"{name} was built and loaded"
    return "the helper module launches: this Triton (3.7 and later) builds nothing for a kernel"
