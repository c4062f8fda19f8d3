"""Rules on forms that no release has: mended in another way, or unknown; an edit would be a guess."""

from __future__ import annotations

import ast

import pytest

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Rule
from tritonwin.patch.rules import BY_ID, RULES

LDCONFIG = 'subprocess.check_output(["/sbin/ldconfig", "-p"])'
MALLOC = "static void PyCUtensorMap_free(void *ptr) { free(ptr); }\n"

# rule, text, what is said of it
MENDED = [
    ("amd-runtime", "def _get_path_to_hip_runtime_dylib():\n    return find('amdhip64.dll')\n", "amdhip64"),
    ("amd-runtime",
     f"def _get_path_to_hip_runtime_dylib():\n    if os.name == 'nt':\n        return 1\n    {LDCONFIG}\n",
     "amdhip64"),
    ("amd-temp-files",
     "def make_hsaco():\n    with tempfile.NamedTemporaryFile(delete=False) as out:\n        pass\n",
     "no open temporary file"),
    ("amd-lld", "def path_to_rocm_lld():\n    return here / 'ld.lld.exe'\n", "ld.lld.exe"),
    ("libcuda-name", "libraries = ['cuda']\n", "it links 'cuda'"),
    ("dlfcn", "#ifndef _WIN32\n#include <dlfcn.h>\n#endif\n", "not included on Windows"),
    ("object-head", "typedef struct { PyObject_HEAD } A;\n", "no semicolon"),
    ("windows-build", "def _build():\n    return is_msvc(cc)\n", "a command line for Windows"),
    ("setuptools-import", "def f():\n    import setuptools\n", "only when it is used"),
    ("temp-files", "def make_cubin():\n    os.remove(fsrc.name)\n", "no temporary file"),
    ("tool-suffix", "def _path_to_binary(binary):\n    binary += \".exe\"\n", "gets its .exe"),
    ("stdatomic", "// #include <stdatomic.h>\n", "not included on Windows"),
    ("libcuda-folder",
     f"def libcuda_dirs():\n    if os.name == 'nt':\n        return []\n    libs = {LDCONFIG}\n",
     "not called on Windows"),
    ("stdatomic", "#ifndef _WIN32\n#include <stdatomic.h>\n#endif\n", "not included on Windows"),
    ("aligned-memory", "#ifdef _WIN32\n_aligned_malloc(1)\n#endif\nposix_memalign(&m)\n", "_aligned_malloc"),
    ("ptx-version", "def ptx_get_version():\n    if major == 12:\n        return table[minor]\n",
     "every CUDA 12"),
    ("libcuda-folder", "def libcuda_dirs():\n    return []\n", "ldconfig is not called"),
    ("driver-present", "def _cuda_driver_is_active():\n    return load('nvcuda.dll')\n", "nvcuda.dll"),
    ("extern-grep", "class Libdevice:\n    def parse_symbols(self):\n        pass\n", "does not call grep"),
    ("module-suffix", "def compile_module_from_src(name):\n    return f'{name}.{suffix}'\n",
     "suffix of the system"),
    ("tensor-map-shape", "shapeInt[i] = PyLong_AsLongLong(item);\n", "read as long long"),
    ("int64-arguments", 'table = {"int64_t": "L"}\n', "read as long long"),
    ("ptxas-shell", "def make_cubin():\n    subprocess.run(words)\n", "without a shell"),
    ("ptxas-blackwell",
     "def get_ptxas():\n    # blackwell\n    if os.name == 'nt':\n        return a\n    return _path_to_binary(name)\n",
     "plain ptxas"),
    ("tool-variables-3.3", "def _path_to_binary(binary):\n    key = f'TRITON_{binary}_PATH'\n",
     "built without .exe"),
    ("tool-variables-3.3",
     "def _path_to_binary(binary):\n    key = f'TRITON_{binary}_PATH'\n    binary += suffix('EXE')\n",
     "built without .exe"),
]  # fmt: skip

UNKNOWN = [
    ("compound-literals",
     "Extractor extraction_map[] = {[A] = (Extractor){a}};\nExtractor x = (Extractor){b};\nf((Extractor){c});\n",
     "(Extractor){ stands in other places too"),
    ("temp-files",
     "def make_cubin():\n    with a() as fsrc, b() as flog:\n        os.remove(fsrc.name)\n",
     "removes one of its temporary files and not the other"),
    ("amd-lld",
     "def path_to_rocm_lld():\n    a = Path(__file__)\n    b = Path(__file__).parent\n    return a\n",
     "another form"),
    ("aligned-memory", f"{MALLOC}int main() {{ posix_memalign(&m); }}\n", "in another place"),
    ("stdatomic", "\n#include <stdatomic.h>\natomic_int x;\n", "uses stdatomic.h"),
    ("ptx-version", "def ptx_get_version():\n    return 80\n", "another form"),
    ("libcuda-folder", f"def libcuda_dirs():\n    a = {LDCONFIG}\n    b = {LDCONFIG}\n",
     "in another form"),
    ("libcuda-name", "libraries = [] if os.name == 'nt' else ['cuda']\n", "it links [] if"),
    ("driver-present", "def _cuda_driver_is_active():\n    candidates = ['libcuda.so']\n",
     "in another form"),
    ("dlfcn", "#include <dlfcn.h>\nint f() { return dladdr(0); }\n", "Windows does not have"),
    ("temp-files", "def make_cubin():\n  )", "does not parse"),
    ("extern-grep",
     "class Libdevice:\n    def parse_symbols(self):\n        subprocess.check_output(other)\n",
     "in another form"),
    ("module-suffix", "def compile_module_from_src(name):\n    return f\"{name}.so\"\n",
     "in another form"),
    ("ptxas-shell", "def make_cubin():\n    done = subprocess.run(words, shell=True)\n",
     "another form"),
    ("ptxas-shell",
     "def make_cubin():\n    subprocess.run(words, shell=True)\n    subprocess.run(words, shell=True)\n",
     "another form"),
    ("tool-suffix", "def _path_to_binary(binary):\n    return folder + binary\n", "in another form"),
    ("windows-build", "def _build(name, src):\n    run(cc, src)\n", "another form"),
    ("ptxas-output", "def make_cubin():\n    return ptxas(src)\n", "starts nothing"),
    ("tool-suffix", "def _path_to_binary(binary):\n    return os.path.join(folder, other)\n",
     "in another form"),
    ("tool-variables-3.3", "def _path_to_binary(binary):\n    return 1\n", "in another form"),
    ("ptxas-blackwell",
     "def get_ptxas():\n    if blackwell:\n        return knobs.ptxas_blackwell\n    return knobs.ptxas\n",
     "another form"),
]  # fmt: skip


_LDCONFIG = 'libs = subprocess.check_output(["/sbin/ldconfig"])'
_MADE = "def compile_module_from_src():"
_CUBIN = """\
def make_cubin():
    with A() as fsrc, B() as flog:
"""

# found by fuzzing, and by hand: sources as nobody writes them
LEFT_ALONE = [
    # found by fuzzing
    ("ptxas-blackwell", "def get_ptxas():\n    blackwell\n"),
    # found by hand
    ("windows-build", 'def _build():\n    knobs.build.impl("-shared")\n'),
    ("tool-suffix", "def _path_to_binary(binary):\n    os.path.join()\n"),
    (
        "tool-suffix",
        "def _path_to_binary(binary):\n    x = os.path.join(a, binary) \\\n        + b\n",
    ),
    ("tool-suffix", 'def _path_to_binary(binary):\n    os.path.join(a, binary), """\n    """\n'),
    ("libcuda-folder", f"def libcuda_dirs(): \\\n    {_LDCONFIG}\n"),
    ("libcuda-folder", f"def libcuda_dirs(): {_LDCONFIG}\n"),
    ("libcuda-folder", f"def libcuda_dirs():\n    a = 1; {_LDCONFIG}\n"),
    ("dlfcn", "#include <dlfcn.h>\n#include <dlfcn.h>\n"),
    ("libcuda-name", "libraries = ['libcuda.so.1']; x = 1\n"),
    ("libcuda-name", "libraries = (['libcuda.so.1'])\n"),
    ("driver-present", "def _cuda_driver_is_active():\n    candidates = ['libcuda.so.1']; x = 1\n"),
    ("ptx-version", "def ptx_get_version():\n    if major == 12:\n        return 80 + minor;\n"),
    ("temp-files", _CUBIN + "        os.remove(fsrc.name); os.remove(flog.name)\n"),
    ("temp-files", _CUBIN + "        x(os.remove(fsrc.name))\n        os.remove(flog.name)\n"),
    ("int64-arguments", 'x = {"int64_t": "l", "uint8_t": "B"}\n'),
    ("aligned-memory", "posix_memalign(x)\n"),
    ("cache-replace", "class FileCacheManager:\n    def put(self):\n        os.replace(a, b)\n"),
    (
        "long-paths",
        "class FileCacheManager:\n    def __init__(self):\n        self.cache_dir = x\n",
    ),
    ("ptxas-output", "def make_cubin():\n    subprocess.run(cmd, stderr=log)\n"),
]


@pytest.mark.parametrize(("identifier", "text", "says"), MENDED)
def test_what_works_on_windows_is_left_alone(identifier: str, text: str, says: str) -> None:
    found = engine.judge(BY_ID[identifier], Source(text), "upstream")
    assert (found.state, found.text) == ("fixed-upstream", None), found.reason
    assert says in found.reason
    if not identifier.startswith("amd-"):
        assert engine.judge(BY_ID[identifier], Source(text), "fork").state == "fixed-by-fork"


@pytest.mark.parametrize(
    ("identifier", "text", "says"), [*UNKNOWN, *((*row, "") for row in LEFT_ALONE)]
)
def test_no_guess_is_made_at_an_unknown_form(identifier: str, text: str, says: str) -> None:
    found = engine.judge(BY_ID[identifier], Source(text), "upstream")
    assert (found.state, found.text) == ("unknown", None), found.reason
    assert says in found.reason


def test_an_edit_that_would_break_a_source_is_not_made() -> None:
    breaking = Rule(
        id="breaking",
        defect="X",
        file="a.py",
        need="jit",
        why="None.",
        removes="",
        edit=lambda source, marker: f"{source.text}def (  # {marker}\n",
    )
    outcome = engine.transform("a.py", "x = 1\n", [breaking], "upstream")
    assert (outcome.text, outcome.applied) == ("x = 1\n", ())
    assert "would not parse" in outcome.skipped["breaking"].reason


def test_a_helper_module_in_one_line() -> None:
    text = f'{_MADE} f"{{name}}.so", f"{{name}}.so"\n'
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert outcome.applied == ("module-suffix",)
    assert outcome.text.count("'pyd' if os.name == 'nt'") == 2
    ast.parse(outcome.text)


def test_a_decorator_stays_with_what_it_decorates() -> None:
    lines = ["def libcuda_dirs():", "    @x", "    def inner():", f"        {_LDCONFIG}", ""]
    outcome = engine.transform("backends/nvidia/driver.py", "\n".join(lines), RULES, "upstream")
    assert outcome.applied == ("libcuda-folder",)
    assert "_tritonwin_cuda_folders()\n    @x\n    def inner" in outcome.text
    ast.parse(outcome.text)


@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("dlfcn-launcher", "def make_launcher(): pass\n#include <dlfcn.h>\n"),
        ("object-head-launcher", "PyObject_HEAD; x = 1\n"),
    ],
)
def test_c_outside_of_a_string_is_left_alone(identifier: str, text: str) -> None:
    ast.parse(text)
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert (outcome.text, outcome.applied) == (text, ())
    assert "would not parse" in outcome.skipped[identifier].reason


@pytest.mark.parametrize("deep", ["-" * 1500 + "1", "+".join("a" * 1500), "a" + ".a" * 1500])
def test_what_is_nested_without_end_is_left_alone(deep: str) -> None:
    text = f"libraries = {deep}\ndef libcuda_dirs():\n    {deep}\n    {_LDCONFIG}\n"
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert (outcome.text, outcome.applied) == (text, ())
    assert outcome.skipped["libcuda-folder"].state == "unknown"
