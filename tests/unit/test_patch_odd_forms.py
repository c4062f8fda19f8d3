"""Sources as nobody writes them: no rule falls over one, and no code is lost in a comment."""

from __future__ import annotations

import ast

import approved
import pytest

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.rules import RULES, rule

_LDCONFIG = 'libs = subprocess.check_output(["/sbin/ldconfig"])'
_MADE = "def compile_module_from_src():"
_CUBIN = """\
def make_cubin():
    with A() as fsrc, B() as flog:
"""

# what a rule sees, and what there is about it that is not known
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
    ("libcuda-name", "libraries = ['libcuda.so.1']; x = 1\n"),
    ("libcuda-name", "libraries = (['libcuda.so.1'])\n"),
    ("driver-present", "def _cuda_driver_is_active():\n    candidates = ['libcuda.so.1']; x = 1\n"),
    (
        "ptx-version",
        "def ptx_get_version():\n    if major == 12:\n        return 80 + minor;\n",
    ),
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
WORKS = [("temp-files", "def make_cubin():\n    pass\n")]


@pytest.mark.parametrize(("identifier", "text"), LEFT_ALONE)
def test_what_no_rule_knows_is_left_alone(identifier: str, text: str) -> None:
    ast.parse(text)
    found = rule(identifier)
    assert found is not None
    verdict = engine.judge(found, Source(text), "upstream")
    assert (verdict.state, verdict.text) == ("unknown", None)


def test_why_each_is_left_alone_is_told_in_these_words() -> None:
    """And what is said of a file that holds nothing that a rule looks for."""
    empty = [(each.id, "x = 1\n" if each.file.endswith(".py") else "int x;\n") for each in RULES]
    lines = []
    for identifier, text in (*LEFT_ALONE, *WORKS, *empty):
        found = rule(identifier)
        assert found is not None
        verdict = engine.judge(found, Source(text), "upstream")
        lines.append(f"{identifier}: {verdict.state}, {verdict.reason}")
    approved.check("patch-odd-forms.txt", "\n".join(lines) + "\n")


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
