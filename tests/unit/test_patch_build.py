"""The compiler layer that patch puts into Triton: which compiler, which command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest
from triton_trees import make_tree, mingw, sources
from winlane import wine

from tritonwin.patch import engine
from tritonwin.patch.payload import closed_file, cuda_folders, hip_runtime, lld, windows_build
from tritonwin.patch.rules import RULES

FAMILIES = {
    "tcc.exe": "tcc",
    "cl.exe": "cl",
    "CL.EXE": "cl",
    "clang-cl.exe": "clang-cl",
    "gcc.exe": "gcc",
    "x86_64-w64-mingw32-gcc.exe": "gcc",
    "zig.exe": "zig",
}
VARIABLES = ("CC", "CXX", "VCToolsInstallDir", "INCLUDE", "ProgramFiles", "ProgramFiles(x86)",
             "CUDA_PATH", "CUDA_HOME", "HIP_PATH", "ROCM_PATH", "TRITON_VERBOSE",
             "TRITON_LIBHIP_PATH", "TRITON_CUDACRT_PATH", "TRITON_CUDART_PATH")  # fmt: skip


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python below tmp_path, and no variable that would change anything."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    paths = {"platlib": str(tmp_path / "site"), "include": str(tmp_path / "Include")}
    monkeypatch.setattr(sysconfig, "get_paths", lambda *a, **k: paths)
    monkeypatch.setattr(windows_build, "__file__", str(tmp_path / "triton/runtime/build.py"))
    return tmp_path


def put(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"MZ")
    return str(path)


# -- command lines


@pytest.mark.parametrize(("program", "family"), FAMILIES.items())
def test_a_compiler_is_known_by_its_name(program: str, family: str) -> None:
    assert windows_build._tritonwin_family([os.path.join("C", program)]) == family


@pytest.mark.parametrize(
    ("target", "family"), [("x86_64-pc-windows-msvc", "clang"), ("x86_64-w64-windows-gnu", "gcc")]
)
def test_clang_is_asked_what_it_compiles_for(tmp_path: Path, target: str, family: str) -> None:
    program = tmp_path / "clang"
    program.write_text(f"#!/bin/sh\necho {target}\n")
    program.chmod(0o755)
    assert windows_build._tritonwin_family([str(program)]) == family


def line(family: str, language: str = "c") -> list[str]:
    arguments = (["inc"], ["lib"], ["cuda", "python312"], language)
    if family in ("cl", "clang-cl"):
        return windows_build._tritonwin_msvc_line([family], "a.c", "d/a.pyd", *arguments)
    command = ["zig", "cc"] if family == "zig" else [family]
    return windows_build._tritonwin_gcc_line(command, family, "a.c", "d/a.pyd", *arguments)


LINES = {
    "tcc": "tcc a.c -shared -o d/a.pyd -O2 -D_Py_USE_GCC_BUILTIN_ATOMICS -Iinc -Llib "
    "-lcuda -lpython312",
    "gcc": "gcc a.c -shared -o d/a.pyd -O3 -Wno-psabi -static-libgcc -Iinc -Llib "
    "-lcuda -lpython312",
    "clang": "clang a.c -shared -o d/a.pyd -O3 -Wno-deprecated-declarations "
    "-D_CRT_SECURE_NO_WARNINGS -D_CRT_NONSTDC_NO_DEPRECATE -Iinc -Llib -lcuda -lpython312",
    "zig": "zig cc a.c -shared -o d/a.pyd -O3 -target x86_64-windows-gnu -s -Iinc -Llib "
    "-lcuda -lpython312",
    "cl": "cl /nologo /O2 /LD /MD /utf-8 a.c /std:c11 /D_CRT_SECURE_NO_WARNINGS "
    "/D_CRT_NONSTDC_NO_DEPRECATE /Iinc /Fod/a.obj /link /LIBPATH:lib cuda.lib python312.lib "
    "/OUT:d/a.pyd /IMPLIB:d/a.lib /INCREMENTAL:NO",
}
LINES["clang-cl"] = LINES["cl"].replace("cl ", "clang-cl ", 1)


@pytest.mark.parametrize("family", LINES)
def test_the_command_line(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INCLUDE", "a prompt of Visual Studio")
    assert " ".join(line(family)) == LINES[family]


def test_cpp_and_threads_without_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-std=c++17" in line("gcc", "c++")
    assert "/std:c++17" in line("cl", "c++")
    monkeypatch.setattr(
        sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else None
    )
    assert "-DPy_GIL_DISABLED=1" in line("gcc")
    assert "/DPy_GIL_DISABLED=1" in line("cl")
    version = f"python{sys.version_info[0]}{sys.version_info[1]}"
    assert windows_build._tritonwin_python_library() == f"{version}t"


def test_cl_outside_a_prompt_gets_the_newest_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ProgramFiles(x86)", str(tmp_path / "x86"))
    for version in ("14.9.1", "14.44.35207"):
        cl = put(tmp_path / "VC" / version / "bin/Hostx64/x64/cl.exe")
    for version in ("10.0.9.0", "10.0.22621.0"):
        (tmp_path / f"x86/Windows Kits/10/Include/{version}/ucrt").mkdir(parents=True)
    headers, libraries = windows_build._tritonwin_microsoft(cl)
    assert headers[0] == str(tmp_path / "VC/14.44.35207/include")
    assert {Path(f).parent.name for f in headers[1:]} == {"10.0.22621.0"}
    assert libraries[-1].endswith(os.path.join("10.0.22621.0", "um", "x64"))
    line = windows_build._tritonwin_msvc_line([cl], "a.c", "a.pyd", [], [], [], "c")
    assert f"/I{headers[0]}" in line
    assert f"/LIBPATH:{libraries[0]}" in line


# -- which compiler


def find(language: str = "c") -> list[str]:
    return windows_build._tritonwin_compiler(language)


def test_the_order_of_compilers(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is found while none of those before it is there."""
    monkeypatch.setenv("ProgramFiles", str(bare / "pf"))
    inside = "pf/Microsoft Visual Studio/2022/BuildTools/VC/Tools/MSVC/14.44.1"
    studio = put(bare / inside / "bin/Hostx64/x64/cl.exe")
    assert find() == [studio]
    zig = put(bare / "site/ziglang/zig.exe")
    assert find() == [zig, "cc"]
    assert find("c++") == [zig, "c++"]
    clang = put(bare / "path/clang.exe")
    assert find() == [clang]
    gcc = put(bare / "path/gcc.exe")
    assert find() == [gcc]
    plus = put(bare / "path/g++.exe")
    assert find("c++") == [plus]
    tcc = put(bare / "triton/runtime/tcc/tcc.exe")
    assert find() == [tcc]
    assert find("c++") == [plus]  # TinyCC knows no C++
    cl = put(bare / "tools/bin/Hostx64/x64/cl.exe")
    monkeypatch.setenv("VCToolsInstallDir", str(bare / "tools"))
    assert find() == [cl]
    named = put(bare / "my tools/clang-cl.exe")
    monkeypatch.setenv("CC", f'"{named}"')
    assert find() == [named]


def test_cc_may_be_a_name(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gcc = put(bare / "path/gcc.exe")
    zig = put(bare / "path/zig.exe")
    for value, expected in (
        ("gcc", [gcc]),
        ("gcc.exe", [gcc]),
        (" zig ", [zig, "cc"]),
    ):
        monkeypatch.setenv("CC", value)
        assert find() == expected


def test_no_compiler_is_said_in_the_words_of_triton(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Failed to find C compiler"
    with pytest.raises(RuntimeError, match=f"{said}. Please specify via CC"):
        find()
    monkeypatch.setenv("CC", "icx")
    with pytest.raises(RuntimeError, match=f"{said}. CC is icx, which is not there"):
        find()


def test_the_current_folder_is_not_searched(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "gcc.exe")
    monkeypatch.chdir(bare)
    for path in ("", ".", os.pathsep, f".{os.pathsep}relative"):
        monkeypatch.setenv("PATH", path)
        assert windows_build._tritonwin_which("gcc") is None


# -- what is printed


def say(text: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print({text!r}); raise SystemExit({code})"]


def test_a_compiler_is_heard_where_it_fails_or_was_asked_to(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    windows_build._tritonwin_run(say("warning: strcat"), str(tmp_path))
    assert capfd.readouterr() == ("", "")
    with pytest.raises(subprocess.CalledProcessError, match="returned non-zero exit status 2"):
        windows_build._tritonwin_run(say("error: cuda.h", 2), str(tmp_path))
    assert "error: cuda.h" in capfd.readouterr().err
    monkeypatch.setenv("TRITON_VERBOSE", "1")
    windows_build._tritonwin_run(say("warning: strcat"), str(tmp_path))
    shown = capfd.readouterr().err
    assert sys.executable in shown
    assert "\nwarning: strcat\n" in shown


# -- the whole of it, with the one Windows compiler that Linux has


@pytest.fixture(scope="module")
def compiling() -> tuple[wine.Wine, Path]:
    """Fetched before a test pretends anything."""
    return mingw()


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
def test_mingw_links_a_helper_module(
    version: str, compiling: tuple[wine.Wine, Path], bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cuda_utils` from the patched driver.c: every function of Python and CUDA is found."""
    tree, python = compiling
    paths = {"platlib": str(bare / "site"), "include": str(python / "Include")}
    monkeypatch.setattr(sysconfig, "get_paths", lambda *a, **k: paths)
    monkeypatch.setattr(sys, "base_exec_prefix", str(python))
    monkeypatch.setattr(sys, "version_info", (3, 12))
    monkeypatch.setenv("CC", str(tree.mingw("gcc-win32")))

    package = make_tree(version, bare / "patched")
    driver = package / "backends/nvidia/driver.c"
    text = engine.transform("backends/nvidia/driver.c", driver.read_text(), RULES, "upstream").text
    driver.write_text(text)
    names = sorted(set(re.findall(r"\bcu[A-Z]\w+(?=\()", text)))
    definition = bare / "cuda.def"
    definition.write_text("LIBRARY nvcuda.dll\nEXPORTS\n" + "\n".join(names))
    subprocess.run(
        [tree.mingw("dlltool"), "-d", definition, "-l", bare / "cuda.lib"], check=True, timeout=60
    )
    include = str(sources(version) / "backends/nvidia/include")
    built = windows_build._tritonwin_build(
        "cuda_utils", str(driver), str(bare), [str(bare)], [include], ["cuda"], []
    )
    data = Path(built).read_bytes()
    assert data.startswith(b"MZ")
    assert {b"nvcuda.dll", b"python312.dll"} <= set(re.findall(rb"\w+\.dll", data))


# -- the finders


def test_cuda_lib_is_looked_for_where_it_can_be(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_folders, "__file__", str(bare / "triton/backends/nvidia/driver.py"))
    monkeypatch.setattr(sys, "prefix", str(bare / "conda"))
    monkeypatch.setenv("ProgramFiles", str(bare / "pf"))
    monkeypatch.setenv("CUDA_PATH", str(bare / "toolkit"))
    assert cuda_folders._tritonwin_cuda_folders() == []
    toolkits = "pf/NVIDIA GPU Computing Toolkit/CUDA"
    places = [
        "triton/backends/nvidia/lib/x64",
        "toolkit/lib/x64",
        "site/nvidia/cu13/lib/x64",
        "site/nvidia/cuda_runtime/lib/x64",
        "conda/Library/lib",
        f"{toolkits}/v13.0/lib/x64",
        f"{toolkits}/v12.10/lib/x64",
        f"{toolkits}/v12.9/lib/x64",
    ]
    for place in places:
        put(bare / place / "cuda.lib")
    assert cuda_folders._tritonwin_cuda_folders() == [str(bare / place) for place in places]


def test_hip_and_its_linker(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SystemRoot", str(bare / "windows"))
    with pytest.raises(RuntimeError, match=r"cannot locate amdhip64\.dll"):
        hip_runtime._tritonwin_hip_runtime()
    found = put(bare / "windows/System32/amdhip64_6.dll")
    assert hip_runtime._tritonwin_hip_runtime() == found
    monkeypatch.setenv("HIP_PATH", str(bare / "hip"))
    found = put(bare / "hip/bin/amdhip64_7.dll")
    assert hip_runtime._tritonwin_hip_runtime() == found
    assert lld._tritonwin_lld() is None
    found = put(bare / "hip/bin/ld.lld.exe")
    assert lld._tritonwin_lld() == found


@pytest.mark.parametrize("system", ["nt", "posix"])
def test_a_temporary_file_is_closed_and_goes(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch of Windows is taken by a mock: no AMD part of Triton runs in the lane."""
    stand_in = SimpleNamespace(name=system, close=os.close, remove=os.remove)
    monkeypatch.setattr(closed_file, "os", stand_in)
    with closed_file._tritonwin_closed_file() as file:
        Path(file.name).write_bytes(b"again")
    assert not Path(file.name).exists()
