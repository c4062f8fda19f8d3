"""Appended to runtime/build.py: the command line that compiles a helper module on Windows."""

import glob as _tritonwin_glob
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence


def _tritonwin_build(
    name: str, src: str, srcdir: str, library_dirs: "list[str]", include_dirs: "list[str]",
    libraries: "list[str]", ccflags: "Sequence[str]" = (), language: str = "c",
) -> str:  # fmt: skip
    """Compile `src` to an extension module in `srcdir`; returns its path.

    Raises:
        RuntimeError: there is no compiler.
        subprocess.CalledProcessError: it failed; what it said was printed.
    """
    command = _tritonwin_compiler(language)
    family = _tritonwin_family(command)
    so = os.path.join(srcdir, name + (sysconfig.get_config_var("EXT_SUFFIX") or ".pyd"))
    backends = [os.environ.get(v) for v in ("TRITON_CUDACRT_PATH", "TRITON_CUDART_PATH")]
    python = sysconfig.get_paths()["include"]
    includes = [d for d in (*include_dirs, srcdir, python, *backends) if d]
    folders = [*library_dirs, *_tritonwin_find_python(family)]
    libraries = [*libraries, _tritonwin_python_library()]
    if family in ("cl", "clang-cl"):
        line = _tritonwin_msvc_line(command, src, so, includes, folders, libraries, language)
        line[1:1] = [flag for flag in ccflags if flag[:2] in ("/D", "-D", "/I", "-I")]
    else:
        line = _tritonwin_gcc_line(command, family, src, so, includes, folders, libraries, language)
        line += ccflags
    _tritonwin_run(line, srcdir)
    return so


def _tritonwin_run(line: "list[str]", folder: str) -> None:
    verbose = os.environ.get("TRITON_VERBOSE") == "1"
    if verbose:
        print(subprocess.list2cmdline(line), file=sys.stderr)
    # in the temporary folder, where MSVC also leaves what nobody asked for
    done = subprocess.run(
        line, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=600,
    )  # fmt: skip
    if verbose or done.returncode:
        print(done.stdout.decode(errors="replace"), file=sys.stderr)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, line, done.stdout)


def _tritonwin_compiler(language: str) -> "list[str]":
    """The compiler's program, and what has to stand behind it ("zig", "cc")."""
    chosen = os.environ.get("CC" if language == "c" else "CXX", "").strip().strip('"')
    if chosen:
        path = chosen if os.path.isfile(chosen) else _tritonwin_which(chosen)
        if path:
            return _tritonwin_complete(path, "c")
        raise RuntimeError(f"Failed to find C compiler. CC is {chosen}, which is not there.")
    here = os.path.dirname(os.path.abspath(__file__))
    site = sysconfig.get_paths()["platlib"]
    tools = os.environ.get("VCToolsInstallDir", "")
    places = [
        # only AMD's wheels bring it, whose headers no small compiler takes
        os.path.join(site, "_rocm_sdk_core", "lib", "llvm", "bin", "clang-cl.exe"),
        os.path.join(tools, "bin", "Hostx64", "x64", "cl.exe") if tools else "",
    ]
    if language == "c":
        places.append(os.path.join(here, "tcc", "tcc.exe"))
    found = next((place for place in places if os.path.isfile(place)), None)
    if found:
        return [found]
    for program in ("cl", "gcc", "clang", "clang-cl", "zig"):
        path = _tritonwin_which(program)
        if path:
            return _tritonwin_complete(path, language)
    zig = os.path.join(site, "ziglang", "zig.exe")
    if os.path.isfile(zig):
        return _tritonwin_complete(zig, language)
    installed = _tritonwin_visual_studio()
    if installed:
        return [installed]
    raise RuntimeError(
        "Failed to find C compiler. Please specify via CC environment variable: the path of "
        "cl.exe, clang.exe, gcc.exe, zig.exe or tcc.exe."
    )


def _tritonwin_complete(path: str, language: str) -> "list[str]":
    stem = os.path.splitext(os.path.basename(path))[0].lower()
    if stem == "zig":
        return [path, "cc" if language == "c" else "c++"]
    plus = {"gcc": "g++", "clang": "clang++"}.get(stem) if language != "c" else None
    beside = os.path.join(os.path.dirname(path), f"{plus}.exe")
    return [beside if plus and os.path.isfile(beside) else path]


def _tritonwin_which(program: str) -> "str | None":
    """A program on PATH. Not by shutil.which, which looks in the current folder first."""
    name = program if program.lower().endswith(".exe") else program + ".exe"
    folders = os.environ.get("PATH", "").split(os.pathsep)
    paths = [os.path.join(f.strip('"'), name) for f in folders if os.path.isabs(f.strip('"'))]
    return next((path for path in paths if os.path.isfile(path)), None)


def _tritonwin_family(command: "list[str]") -> str:
    """ "cl", "clang-cl", "clang" (for MSVC), "zig", "tcc" or "gcc" (and clang for MinGW)."""
    stem = os.path.splitext(os.path.basename(command[0]))[0].lower()
    if stem in ("cl", "clang-cl", "tcc", "zig"):
        return stem
    if not stem.startswith("clang"):
        return "gcc"
    asked = subprocess.run(
        [*command, "-dumpmachine"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60
    )
    return "clang" if b"msvc" in asked.stdout else "gcc"


def _tritonwin_find_python(family: str) -> "list[str]":
    """The folders of Python's import library; gcc and TinyCC can also link to the DLL itself."""
    roots = [sys.base_exec_prefix, sys.exec_prefix, os.path.dirname(sys.executable)]
    folders = [os.path.join(root, "libs") for root in roots]
    folders += roots if family in ("gcc", "tcc") else []
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def _tritonwin_python_library() -> str:
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"python{sys.version_info[0]}{sys.version_info[1]}{threads}"


_tritonwin_crt = ["_CRT_SECURE_NO_WARNINGS", "_CRT_NONSTDC_NO_DEPRECATE"]
_tritonwin_flags = {  # by family: options, and what is defined
    "tcc": (["-O2"], ["_Py_USE_GCC_BUILTIN_ATOMICS"]),  # the only ones that TinyCC has
    "gcc": (["-O3", "-Wno-psabi", "-static-libgcc"], []),
    "zig": (["-O3", "-target", "x86_64-windows-gnu", "-s"], []),
    "clang": (["-O3", "-Wno-deprecated-declarations"], _tritonwin_crt),
}


def _tritonwin_defines() -> "list[str]":
    return ["Py_GIL_DISABLED=1"] if sysconfig.get_config_var("Py_GIL_DISABLED") else []


def _tritonwin_gcc_line(
    command: "list[str]", family: str, src: str, so: str, includes: "list[str]",
    folders: "list[str]", libraries: "list[str]", language: str,
) -> "list[str]":  # fmt: skip
    options, defines = _tritonwin_flags[family]
    line = [*command, src, "-shared", "-o", so, *options]
    if language != "c":
        line.append("-std=c++17")
    line += [f"-D{name}" for name in (*_tritonwin_defines(), *defines)]
    line += [f"-I{folder}" for folder in includes]
    line += [f"-L{folder}" for folder in folders]
    return line + [f"-l{name}" for name in libraries]


def _tritonwin_msvc_line(
    command: "list[str]", src: str, so: str, includes: "list[str]", folders: "list[str]",
    libraries: "list[str]", language: str,
) -> "list[str]":  # fmt: skip
    base = os.path.splitext(so)[0]
    line = [*command, "/nologo", "/O2", "/LD", "/MD", "/utf-8", src]
    line.append("/std:c11" if language == "c" else "/std:c++17")
    # strcat and its like are used with care in driver.c, and nobody is helped by a page of warnings
    line += [f"/D{name}" for name in (*_tritonwin_crt, *_tritonwin_defines())]
    if not os.environ.get("INCLUDE"):  # not in a prompt of Visual Studio
        headers, archives = _tritonwin_microsoft(command[0])
        includes, folders = [*includes, *headers], [*folders, *archives]
    line += [f"/I{folder}" for folder in includes]
    line += [f"/Fo{base}.obj", "/link", *(f"/LIBPATH:{folder}" for folder in folders)]
    line += [f"{name}.lib" for name in libraries]
    return [*line, f"/OUT:{so}", f"/IMPLIB:{base}.lib", "/INCREMENTAL:NO"]


def _tritonwin_newest(pattern: str, marker: str) -> str:
    """The folder of the highest version among those that hold `marker`; "" if there is none."""
    found = [f for f in _tritonwin_glob.glob(pattern) if os.path.exists(os.path.join(f, marker))]

    def version(folder: str) -> "list[int]":
        return [int(part) for part in re.findall(r"\d+", os.path.basename(folder))]

    return max(found, key=version, default="")


def _tritonwin_visual_studio() -> str:
    """The newest cl.exe of an installed Visual Studio; "" if there is none."""
    roots = [os.environ.get(v, "") for v in ("ProgramFiles", "ProgramFiles(x86)")]
    marker = os.path.join("bin", "Hostx64", "x64", "cl.exe")
    inside = ("Microsoft Visual Studio", "*", "*", "VC", "Tools", "MSVC", "*")
    found = [_tritonwin_newest(os.path.join(root, *inside), marker) for root in roots if root]
    newest = max(found, key=os.path.basename, default="")
    return os.path.join(newest, marker) if newest else ""


def _tritonwin_microsoft(compiler: str) -> "tuple[list[str], list[str]]":
    """Header and library folders of the compiler's toolset and of the newest Windows SDK."""
    if not os.path.basename(compiler).lower().startswith("cl."):
        compiler = _tritonwin_visual_studio()
    toolset = compiler
    for _ in range(4):  # bin\Hostx64\x64\cl.exe
        toolset = os.path.dirname(toolset)
    kits = os.path.join(os.environ.get("ProgramFiles(x86)", ""), "Windows Kits", "10")
    headers = _tritonwin_newest(os.path.join(kits, "Include", "10.*"), "ucrt")
    version = os.path.basename(headers)
    parts = ("ucrt", "um", "shared")
    return (
        [os.path.join(toolset, "include"), *(os.path.join(headers, part) for part in parts)],
        [os.path.join(toolset, "lib", "x64"),
         *(os.path.join(kits, "Lib", version, part, "x64") for part in parts[:2])],
    )  # fmt: skip
