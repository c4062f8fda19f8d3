"""Rules one by one: what each leaves alone, and what it says to a form that it does not know."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from triton_trees import sources
from winlane.upstream import UPSTREAM

from tritonwin.patch import engine
from tritonwin.patch.edits import NoEdit, Source, is_guarded, substituted
from tritonwin.patch.engine import Rule
from tritonwin.patch.rules import BY_ID, FILES, RULES, by_structure

each_rule = pytest.mark.parametrize("tried", RULES, ids=lambda r: r.id)


def verdict(identifier: str, text: str) -> engine.Verdict:
    return engine.judge(BY_ID[identifier], Source(text), "upstream")


def a_text_that_needs(tried: Rule) -> str:
    """The file of the first release that the rule edits."""
    for version in (*UPSTREAM, "windows:3.6.0.post26"):
        path = sources(version) / tried.file
        text = path.read_text("utf-8") if path.exists() else ""
        if engine.judge(tried, Source(text), "upstream").text:
            return text
    pytest.fail(f"{tried.id} edits nothing")


@each_rule
def test_a_rule_explains_itself(tried: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", tried.id)
    for text in (tried.why, tried.removes):
        assert text.isascii()
        assert text == " ".join(text.split())
    assert tried.why.endswith(".")


def test_ids_are_unique_and_none_is_the_marker_of_another() -> None:
    assert len(BY_ID) == len(RULES)
    for one in RULES:
        assert not any(engine.is_applied(two, f"# {one.marker}") for two in RULES if two != one)


@each_rule
def test_an_edit_is_small_marked_and_made_once(tried: Rule) -> None:
    text = a_text_that_needs(tried)
    edited = engine.judge(tried, Source(text), "upstream").text
    assert edited is not None
    assert tried.marker not in text
    assert engine.is_applied(tried, edited)
    again = engine.judge(tried, Source(edited), "upstream")
    assert (again.state, again.text) == ("applied", None)
    kept = set(text.splitlines())
    gone = kept - set(edited.splitlines())
    assert len(gone) <= 22  # the longest is a table that loses its casts
    if tried.file.endswith(".py"):
        ast.parse(edited)


_ASKED = 'subprocess.check_output(["/sbin/ldconfig"])'


@each_rule
@pytest.mark.parametrize("text", ["", "def (", "int main(void) { return 0; }\n"])
def test_nothing_to_do_in_another_text(tried: Rule, text: str) -> None:
    assert engine.judge(tried, Source(text), "upstream").text is None


def test_a_python_file_that_does_not_parse_stays_as_it_is() -> None:
    """Found by fuzzing: a rule that edits by text alone made the file invalid."""
    text = a_text_that_needs(BY_ID["amd-dlfcn-launcher"]) + "\n<<<<<<< HEAD\n"
    outcome = engine.transform("backends/amd/driver.py", text, RULES, "upstream")
    assert (outcome.text, outcome.applied) == (text, ())
    assert "does not parse" in outcome.unknown["amd-dlfcn-launcher"]


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028"])
def test_what_ends_a_line_to_python_alone_ends_one(separator: str) -> None:
    """Found by fuzzing: `splitlines` ends lines that the parser does not, and edits went astray."""
    text = (
        f"name = 'a{separator}b'\n\n\ndef libcuda_dirs():\n    libs = {_ASKED}\n    return libs\n"
    )
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert outcome.applied == ("libcuda-folder",)
    assert f"a{separator}b'\n\n\ndef libcuda_dirs():\n    if os.name" in outcome.text


def test_tabs_stay_tabs() -> None:
    """Found by fuzzing: an edit that is indented with spaces among tabs is no Python."""
    text = f"def libcuda_dirs():\n\tlibs = {_ASKED}\n\treturn libs\n"
    outcome = engine.transform("backends/nvidia/driver.py", text, RULES, "upstream")
    assert outcome.applied == ("libcuda-folder",)
    assert "\n\tif os.name" in outcome.text


@pytest.mark.parametrize("after", ["; x = 1", "  # a remark"])
def test_what_follows_on_a_line_is_not_lost(after: str) -> None:
    text = (sources("3.7.1") / "runtime/cache.py").read_text("utf-8")
    line = "os.replace(temp_path, filepath)"
    found = verdict("cache-replace", text.replace(line, line + after))
    assert (found.state, found.text) == ("unknown", None)


# -- the parts


def test_the_shim_in_an_f_string_is_the_shim() -> None:
    inside = by_structure.shim("tritonwin:x", in_f_string=True)
    assert "\\" not in inside
    quoted = f'f"""{inside}"""'
    assert eval(quoted) == by_structure.shim("tritonwin:x")
    assert "GetLastError" not in inside


@pytest.mark.parametrize(
    ("before", "guarded"),
    [("", False), ("#ifdef A\n", True), ("#if A\n#endif\n", False), ("# if A\n", False)],
)
def test_between_if_and_endif(before: str, guarded: bool) -> None:
    assert is_guarded(before + "x", len(before)) is guarded


def test_text_is_replaced_where_it_is_expected_and_nowhere_else() -> None:
    assert substituted("a b a", "a", "c", 2) == "c b c"
    with pytest.raises(NoEdit, match="/a/ is found 2 times, expected 1"):
        substituted("a b a", "a", "c")


def test_places_are_found_behind_letters_of_several_bytes_and_form_feeds() -> None:
    source = Source("x = 'äö用'; libraries = ['libcuda.so.1']\n\f\ny = 1\n")
    node = source.tree.body[1]
    start, end = source.span(node)
    assert source.text[start:end] == "libraries = ['libcuda.so.1']"
    last = source.tree.body[-1]
    assert source.segment(last) == "y = 1"


def test_known_is_a_matter_of_content() -> None:
    text = (sources("3.6.0") / "knobs.py").read_text("utf-8")
    assert engine.releases("knobs.py", text) == ("3.6.0",)
    assert engine.releases("knobs.py", text + "#") == ()
    assert engine.releases("runtime/build.py", text) == ()


def test_every_release_that_is_known_was_tried_or_equals_one_that_was() -> None:
    """Contents of releases that tests do not fetch are those of their neighbours, or forks."""
    table = engine.known_sources()
    assert set(table) == set(FILES)
    for file, contents in table.items():
        for releases in contents.values():
            upstream = [r for r in releases if not r.startswith("triton-windows ")]
            assert not upstream or set(upstream) & set(UPSTREAM), (file, releases)


# -- whatever the text


_LINES = [
    line
    for name in ("backends/nvidia/driver.py", "backends/nvidia/compiler.py", "runtime/build.py")
    for line in (
        "def libcuda_dirs():", "    libs = subprocess.check_output(['/sbin/ldconfig', '-p'])",
        "libraries = ['libcuda.so.1']", "def make_cubin():", "#include <dlfcn.h>",
        "    with a as fsrc, b as flog:", "        os.remove(fsrc.name)", "import setuptools",
        "def _build(name, src, srcdir, library_dirs, include_dirs, libraries):",
        "    cc = ['-shared']", "    return 1", "'''", '    f"{name}.so"', name,
    )
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_LINES) | st.text(max_size=20), max_size=12))
def test_any_text_is_edited_to_python_or_left(lines: list[str]) -> None:
    text = "\n".join(lines)
    for file in ("backends/nvidia/driver.py", "backends/nvidia/compiler.py", "runtime/build.py"):
        outcome = engine.transform(file, text, RULES, "upstream")
        again = engine.transform(file, outcome.text, RULES, "upstream")
        assert again.text == outcome.text
        if not outcome.applied:
            assert outcome.text == text
