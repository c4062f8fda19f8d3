"""Rules on forms that no release has: mended in another way, or unknown; an edit would be a guess."""

from __future__ import annotations

import ast

import pytest
from cases import cases

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Rule, TextStep
from tritonwin.patch.rules import BY_ID, RULES

_LDCONFIG = 'libs = subprocess.check_output(["/sbin/ldconfig"])'
_MADE = "def compile_module_from_src():"


@pytest.mark.parametrize("row", cases("patch_forms.toml", "mended"))
def test_what_works_on_windows_is_left_alone(row: dict[str, str]) -> None:
    found = engine.judge(BY_ID[row["rule"]], Source(row["text"]), "upstream")
    assert (found.state, found.text) == ("fixed-upstream", None), found.reason
    assert row["says"] in found.reason
    if not row["rule"].startswith("amd-"):
        again = engine.judge(BY_ID[row["rule"]], Source(row["text"]), "fork")
        assert again.state == "fixed-by-fork"


@pytest.mark.parametrize("row", cases("patch_forms.toml", "unknown"))
def test_no_guess_is_made_at_an_unknown_form(row: dict[str, str]) -> None:
    found = engine.judge(BY_ID[row["rule"]], Source(row["text"]), "upstream")
    assert (found.state, found.text) == ("unknown", None), found.reason
    assert row.get("says", "") in found.reason


@pytest.mark.parametrize(
    ("rule", "text", "upstream", "fork"),
    [
        ("temp-files", "x = 1\n", "not-applicable", "not-applicable"),
        ("temp-files", "def make_cubin(:\n", "unknown", "unknown"),
        ("dlfcn", "int x;\n", "fixed-upstream", "fixed-by-fork"),
        ("amd-dlfcn", "int x;\n", "fixed-upstream", "not-applicable"),
        ("dlfcn", "#include <dlfcn.h>\n", "needed", "needed"),
        ("amd-dlfcn", "#include <dlfcn.h>\n", "needed", "not-applicable"),
        ("dlfcn", "// tritonwin:dlfcn\n", "applied", "applied"),
    ],
)
def test_the_state_of_a_rule(rule: str, text: str, upstream: str, fork: str) -> None:
    found = [engine.judge(BY_ID[rule], Source(text), by) for by in ("upstream", "fork")]
    assert [each.state for each in found] == [upstream, fork]
    assert all(each.reason and (each.text is None) == (each.state != "needed") for each in found)


def test_an_edit_that_would_break_a_source_is_not_made() -> None:
    breaking = Rule(
        id="breaking",
        defect="X",
        file="a.py",
        need="jit",
        why="None.",
        removes="",
        steps=(TextStep(old=r"\Z", new="def (  # {marker}\n"),),
    )
    outcome = engine.transform("a.py", "x = 1\n", [breaking], "upstream")
    assert (outcome.text, outcome.applied) == ("x = 1\n", ())
    assert "would not parse" in outcome.unknown["breaking"]


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
    assert "would not parse" in outcome.unknown[identifier]


@pytest.mark.parametrize("deep", ["-" * 1500 + "1", "+".join("a" * 1500), "a" + ".a" * 1500])
def test_what_is_nested_without_end_is_left_alone(deep: str) -> None:
    text = f"libraries = {deep}\ndef libcuda_dirs():\n    {deep}\n    {_LDCONFIG}\n"
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert (outcome.text, outcome.applied) == (text, ())
    assert "libcuda-folder" in outcome.unknown
