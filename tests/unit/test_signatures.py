"""Signatures in the catalogue's TOML are read strictly."""

from __future__ import annotations

import re

import pytest
from regex_lint import flaws

from tritonwin.problems.catalogue import CatalogueError
from tritonwin.problems.catalogue.reader import read
from tritonwin.problems.model import Condition, LinePattern, Question

GOOD = """
[words]
noun = '''module|modul'''
module = '''(?i:(?P>noun))'''
[marks.compiled]
anchor = "cc_cmd"
[[problem]]
id = "sample"
title = "a sample"
severity = "error"
layer = "packages"
cause = "One sentence."
[problem.remedy]
summary = "Do this."
[problem.question]
text = "Which {package} is it?"
command = '{python} -m pip show "{package}"'
[[problem.signatures]]
anchor = ["LNK1181", "LNK1104"]
line = '''LNK1\\d{3}.{0,80}'(?P<path>[^']{1,99})' (?P>module)'''
certainty = "likely"
before = ["compiled"]
after = [{ anchor = "link.exe", line = '''link\\.exe failed''' }]
without = ["compiled"]
when = { torch = "<2.6", python_kind = ["embedded", "venv"] }
unknown = "possible"
"""


def test_a_good_signature_is_read() -> None:
    entry = read({"a.toml": GOOD}).entry("sample")
    compiled = LinePattern(anchors=("cc_cmd",))
    (found,) = entry.signatures
    assert found.pattern.anchors == ("LNK1181", "LNK1104")
    assert found.pattern.line == r"LNK1\d{3}.{0,80}'(?P<path>[^']{1,99})' (?:(?i:(?:module|modul)))"
    assert found.certainty == "likely"
    assert found.before == found.without == (compiled,)
    assert found.after == (LinePattern(anchors=("link.exe",), line=r"link\.exe failed"),)
    assert found.when == (
        Condition(fact="torch", allowed=("<2.6",)),
        Condition(fact="python_kind", allowed=("embedded", "venv")),
    )
    assert found.unknown == "possible"
    assert entry.question == Question(
        text="Which {package} is it?", command='{python} -m pip show "{package}"'
    )


def test_marks_and_words_of_one_file_serve_another() -> None:
    shared, _, rest = GOOD.partition("[[problem]]")
    assert read({"z.toml": shared, "a.toml": "[[problem]]" + rest}).entry("sample").signatures


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('anchor = ["LNK1181", "LNK1104"]', "", "a.toml: sample: anchor is missing"),
        ('"LNK1181"', '"a"', "anchor 'a' has no piece of 3 characters"),
        ('"LNK1181"', "7", "anchor must be of type str, not 7"),
        ('certainty = "likely"', "", "certainty is missing"),
        ('"likely"', '"sure"', "unknown certainty 'sure'"),
        ('before = ["compiled"]', 'before = ["nope"]', "unknown mark 'nope'"),
        ("before =", "befor =", "unknown key 'befor'"),
        ('before = ["compiled"]', "near = true", "near is of no use without before"),
        ('anchor = "link.exe",', "", "anchor is missing"),
        ('"link.exe",', '"link.exe", lin = "x",', "unknown key 'lin'"),
        ('torch = "<2.6"', 'torch = "2.6 or so"', "torch: not a range of versions: '2.6 or so'"),
        ('torch = "<2.6"', 'torhc = "<2.6"', "unknown fact 'torhc'"),
        ('["embedded", "venv"]', '"embeded"', "python_kind: unknown value 'embeded'"),
        (
            'when = { torch = "<2.6", python_kind = ["embedded", "venv"] }',
            "",
            "unknown is of no use without when",
        ),
        ("(?P>module)", "(?P>modul)", "a.toml: sample: unknown word 'modul'"),
        ("(?P>noun)", "(?P>nown)", "a.toml: unknown word 'nown'"),
        ("'''module|modul'''", "7", "a.toml: noun must be of type str, not 7"),
        ("[words]", "[[words]]", "a.toml: words must be of type dict"),
        ("after = [{ anchor", 'after = ["nope", { anchor', "unknown mark 'nope'"),
        ('without = ["compiled"]', 'without = ["nope"]', "unknown mark 'nope'"),
        ('without = ["compiled"]', "without = [7]", "a.toml: sample: entry must be of type dict"),
        ('before = ["compiled"]', 'before = ["compiled"]\nnear = 1', "near must be of type bool"),
        ('"possible"', '"maybe"', "unknown unknown 'maybe', there are certain, likely, possible"),
        ('text = "Which', 'txt = "Which', "a.toml: sample: text is missing"),
        ('text = "Which', 'x = 1\ntext = "Which', "a.toml: sample: unknown key 'x'"),
        ('show "{package}"', "show {package}", "{package} stands outside double quotes"),
        ("Which {package}", "Which {pakage}", "unknown placeholder {pakage}"),
        ('[marks.compiled]\nanchor = "cc_cmd"', "[marks.compiled]", "compiled: anchor is missing"),
        ('anchor = "cc_cmd"', 'anchor = "cc_cmd"\nx = 1', "compiled: unknown key 'x'"),
    ],
)
def test_a_broken_signature_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CatalogueError, match=re.escape(message)):
        read({"a.toml": GOOD.replace(old, new, 1)})


def test_a_mark_is_taken_once() -> None:
    with pytest.raises(CatalogueError, match="taken"):
        read({"a.toml": GOOD, "b.toml": "[marks.compiled]\nanchor = 'other'"})


@pytest.mark.parametrize(
    ("regex", "flaw"),
    [
        (r"a.*b", "a repeat without a bound"),
        (r"a+", "a repeat without a bound"),
        (r"(?:a{1,9}b){1,9}", "a repeat within a repeat"),
        (r"(?=(?:a{0,3}){2,4})", "a repeat within a repeat"),
        (r"(?P<name>a)", "group 'name' is no placeholder"),
        (r"(", "not a regular expression"),
    ],
)
def test_the_lint_sees_what_is_slow_or_wrong(regex: str, flaw: str) -> None:
    assert any(found.startswith(flaw) for found in flaws(regex))


def test_the_lint_lets_pass_what_is_right() -> None:
    assert not list(flaws(r"(?:a|b{1,3}) .{0,80}'(?P<path>[^']{1,200})'(?:x)?"))
