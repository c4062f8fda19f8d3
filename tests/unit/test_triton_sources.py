from __future__ import annotations

from pathlib import Path

import pytest
from trees import write

from tritonwin.facts.torch_triton import find_traits, read_sources, triton_traits

NVIDIA = "backends/nvidia/driver.py"
DRIVER_C = "backends/nvidia/driver.c"
COMPILER = "backends/nvidia/compiler.py"
BUILD = "runtime/build.py"

LDCONFIG = 'libs = subprocess.check_output(["/sbin/ldconfig", "-p"]).decode()\n'
TEMP = """\
def make_cubin():
    with tempfile.NamedTemporaryFile(delete=False, suffix='.ptx') as fsrc, \\
        tempfile.NamedTemporaryFile(delete=False, suffix='.log') as flog:
        try:
            run()

            if os.path.exists(fsrc.name):
                REMOVE
        finally:
            pass
    return b""
"""
LAST_ERROR = """\
    symbol_t handle = (symbol_t)GetProcAddress(dll, "f");  \\
    long err = GetLastError();                             \\
    if (err) {                                             \\
"""
TOOL_KEY = """\
class env_nvidia_tool:
    def __init__(self, binary):
        FIRST
        SECOND
"""
APPEND = 'binary += sysconfig.get_config_var("EXE")'
KEY = 'super().__init__(f"TRITON_{binary.upper()}_PATH")'

# The excerpts are written anew after the structure of the real sources.
# trait, file, a source that has it
PRESENT = [
    ("ldconfig", NVIDIA, f"def libcuda_dirs():\n    {LDCONFIG}"),
    ("libcuda-so", NVIDIA, "libraries = ['libcuda.so.1']\n"),
    ("nvcuda-library", NVIDIA, "if os.name == 'nt':\n    libraries = ['nvcuda']\n"),
    ("libcuda-so-probe", NVIDIA, 'candidates = ["libcuda.so.1"]\n'),
    ("libcuda-so-probe", NVIDIA, 'ctypes.CDLL("libcuda.so.1")\n'),
    ("dlfcn", DRIVER_C, '#include "cuda.h"\n#include <dlfcn.h>\n'),
    ("dlfcn-launcher", NVIDIA, 'src = f"""\n#include <dlfcn.h>\n{x}\n"""\n'),
    ("posix-memalign", DRIVER_C, "if (posix_memalign(&mem, 128, size) != 0) {\n"),
    ("stdatomic", DRIVER_C, "#include <stdatomic.h>\n"),
    ("fpic", BUILD, 'cmd = [cc, src, "-O3", "-shared", "-fPIC", "-o", so]\n'),
    ("no-python-lib", BUILD, 'cmd = [cc, src, "-O3", "-shared", "-o", so]\n'),
    ("stable-abi-link", BUILD, 'libraries = libraries + ["python3"]\n'),
    ("unix-compilers-only", BUILD, 'gcc = shutil.which("gcc")\n'),
    ("setuptools-import", BUILD, "import setuptools\n"),
    ("temp-removed-open", COMPILER, TEMP.replace("REMOVE", "os.remove(fsrc.name)")),
    ("shell-true", COMPILER, "subprocess.run(cmd, shell=True, check=True)\n"),
    ("tool-without-exe", COMPILER, "def _path_to_binary(binary):\n    pass\n"),
    ("ptxas-blackwell", COMPILER, 'name = "ptxas-blackwell" if arch >= 100 else "ptxas"\n'),
    ("ptxas-blackwell", COMPILER, "def f():\n    return knobs.nvidia.ptxas_blackwell\n"),
    ("ptxas-env-key", "knobs.py", TOOL_KEY.replace("FIRST", APPEND).replace("SECOND", KEY)),
    ("long-as-32-bit", NVIDIA, 'f = {"int64_t": "l", "uint64_t": "K"}\n'),
    ("so-extension", NVIDIA, 'path = cache.get_file(f"{name}.so")\n'),
    ("libtriton-so-key", "compiler/compiler.py", 'open(join(ROOT, "_C/libtriton.so"))\n'),
    ("replace-unguarded", "runtime/cache.py", "def put():\n    os.replace(temp_path, filepath)\n"),
    ("no-long-paths", "runtime/cache.py", "class FileCacheManager:\n    pass\n"),
    ("grep", "tools/build_extern.py", 'subprocess.check_output(["grep", "define", f])\n'),
    ("stale-last-error", DRIVER_C, LAST_ERROR),
    ("stale-last-error-launch", NVIDIA, f'src = f"""\n{LAST_ERROR.replace("{", "{{")}\n"""\n'),
    ("cuda-12-folders-only", "windows_utils.py", 'glob(str(parent / "v12*"))\n'),
    ("amd-ldconfig", "backends/amd/driver.py", LDCONFIG),
    ("amd-dlfcn", "backends/amd/driver.c", "#include <dlfcn.h>\n"),
    ("windows-branches", BUILD, 'if os.name == "nt":\n    pass\n'),
    ("patched-by-tritonwin", DRIVER_C, "/* tritonwin: dlfcn for Windows */\n"),
]

# trait, file, a source that comes close and does not have it
ABSENT = [
    ("ldconfig", NVIDIA, f"def f():\n    if os.name == 'nt':\n        return []\n    {LDCONFIG}"),
    ("ldconfig", NVIDIA, "msg = 'please run \"/sbin/ldconfig\"'\n"),
    ("libcuda-so", NVIDIA, "libraries = ['cuda']\n"),
    ("libcuda-so", NVIDIA, "libraries = ['cuda'] if os.name == 'nt' else ['libcuda.so.1']\n"),
    (
        "libcuda-so",
        NVIDIA,
        "if os.name == 'nt':\n    pass\nelse:\n    libraries = ['libcuda.so.1']\n",
    ),
    (
        "dlfcn",
        DRIVER_C,
        "#ifndef _WIN32\n#include <dlfcn.h>\n#else\n#include <windows.h>\n#endif\n",
    ),
    ("dlfcn-launcher", NVIDIA, 's = f"""\n#ifndef _WIN32\n#include <dlfcn.h>\n#endif\n{x}"""\n'),
    ("posix-memalign", DRIVER_C, "#ifdef _WIN32\n#else\nposix_memalign(&m, 1, 2);\n#endif\n"),
    (
        "posix-memalign",
        DRIVER_C,
        "#define posix_memalign(p, a, n) (*(p) = _aligned_malloc(n, a))\n",
    ),
    ("stdatomic", DRIVER_C, "// #include <stdatomic.h>\n"),
    (
        "fpic",
        BUILD,
        'cmd = [cc, "-shared"]\nif not (os.name == "nt" and clang):\n    cmd += ["-fPIC"]\n',
    ),
    ("no-python-lib", BUILD, 'cmd = [cc, "-shared"]\nlibraries += [f"python{version}"]\n'),
    ("unix-compilers-only", BUILD, 'cl = shutil.which("cl")\ngcc = shutil.which("gcc")\n'),
    ("setuptools-import", BUILD, "def f():\n    import setuptools\n"),
    ("temp-removed-open", COMPILER, TEMP.replace("REMOVE", "fsrc.close(), os.remove(fsrc.name)")),
    ("temp-removed-open", COMPILER, TEMP.replace("REMOVE", "pass") + "    os.remove(fsrc.name)\n"),
    ("tool-without-exe", COMPILER, 'def _path_to_binary(b):\n    b += ".exe"\n'),
    (
        "ptxas-blackwell",
        COMPILER,
        "def f():\n    # return knobs.nvidia.ptxas_blackwell\n    return 1\n",
    ),
    (
        "ptxas-blackwell",
        COMPILER,
        "if os.name == 'nt':\n    n = 1\nelse:\n    n = 'ptxas-blackwell' if arch else 2\n",
    ),
    ("ptxas-env-key", "knobs.py", TOOL_KEY.replace("FIRST", KEY).replace("SECOND", APPEND)),
    ("long-as-32-bit", NVIDIA, 'f = {"long": "l", "int64_t": "L"}\n'),
    ("so-extension", NVIDIA, 'log.warning(f"module {name}.so could not be loaded")\n'),
    ("so-extension", NVIDIA, 'if os.name == "nt":\n    n = 1\nelse:\n    n = f"{name}.so"\n'),
    ("libtriton-so-key", "compiler/compiler.py", 'open(f"libtriton.{ext}")\n'),
    (
        "replace-unguarded",
        "runtime/cache.py",
        "try:\n    os.replace(temp_path, filepath)\nexcept PermissionError:\n    pass\n",
    ),
    ("no-long-paths", "runtime/cache.py", "class FileCacheManager:\n    d = normalize_path(d)\n"),
    ("stale-last-error", DRIVER_C, LAST_ERROR.replace("if (err)", "if (!handle)")),
    (
        "stale-last-error-launch",
        NVIDIA,
        f's = f"""\n{LAST_ERROR.replace("{", "{{")}\ncuLaunchKernel(function, 1)"""\n',
    ),
    ("cuda-12-folders-only", "windows_utils.py", 'glob(str(parent / "v1*"))\n'),
    ("amd-ldconfig", "backends/amd/driver.py", f"if not _is_windows():\n    {LDCONFIG}"),
    ("windows-branches", BUILD, "import os\n"),
]


def ids(sources: dict[str, str]) -> set[str]:
    return {hit.id for hit in find_traits(sources)}


@pytest.mark.parametrize(("trait", "file", "source"), PRESENT)
def test_a_trait_is_found(trait: str, file: str, source: str) -> None:
    assert trait in ids({file: source})


@pytest.mark.parametrize(("trait", "file", "source"), ABSENT)
def test_a_trait_is_not_found(trait: str, file: str, source: str) -> None:
    assert trait not in ids({file: source})


def test_every_trait_has_an_example() -> None:
    assert {trait.id for trait in triton_traits()} == {trait for trait, _, _ in PRESENT}


def test_the_data_is_well_formed() -> None:
    traits = triton_traits()

    assert len({trait.id for trait in traits}) == len(traits)
    assert all(trait.meaning and trait.meaning.isascii() for trait in traits)


def test_a_hit_says_where(tmp_path: Path) -> None:
    write(tmp_path, {NVIDIA: f"import os\r\n\r\n{LDCONFIG}", "other.py": LDCONFIG})

    (hit,) = find_traits(read_sources(tmp_path))

    assert (hit.id, hit.file, hit.line) == ("ldconfig", NVIDIA, 3)


def test_no_sources_no_traits(tmp_path: Path) -> None:
    assert find_traits(read_sources(tmp_path)) == ()


def test_sources_that_are_no_text_are_searched_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, {NVIDIA: b"\xff\x00" + LDCONFIG.encode()})

    (hit,) = find_traits(read_sources(tmp_path))

    assert hit.id == "ldconfig"
