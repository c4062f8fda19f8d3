"""Signatures: how a problem shows in a log, as TOML below its `[[problem]]`.

    [[problem.signatures]]
    anchor = "LNK1181"          # or a list: one of these literals must stand in the line
    line = '''LNK1181.*'(?P<path>[^']{1,260})' '''
    certainty = "certain"       # only where the line, with the conditions, proves it
    before = ["msvc-banner"]    # each in an earlier line; a mark's name or { anchor, line }
    near = true                 # those of `before` stand close, as in the same traceback
    after = []                  # each in a later line
    without = []                # none of them anywhere
    when = { torch = "<2.6", python_kind = ["embedded", "venv"] }
    unknown = "possible"        # the certainty where a fact of `when` is not known

`line` is searched in the normalised line (explain/normalise.py): no escapes, no prefixes, single
backslashes, plain quotes. Its groups that bear the name of a placeholder fill the entry's words.
An anchor is case-sensitive, begins where a word begins and is found through its rarest word
(anchors.py), so there should be a rare one: an error number, an identifier, a file name.

Marks are patterns that several signatures share: `[marks.NAME]` with `anchor` and `line`, in
marks.toml; `[words]` there are pieces of regular expressions, such as Windows' word for "module" in
ten languages: `(?P>NAME)` in a `line` stands for one, also in a later word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tritonwin.facts.model import PythonKind
from tritonwin.problems.catalogue.anchors import MIN_WORD, keys
from tritonwin.problems.catalogue.table import Table
from tritonwin.problems.model import CERTAINTIES, Condition, LinePattern, Signature

VERSIONS = frozenset({"torch", "triton", "python", "cuda", "gpu", "msvc", "driver", "setuptools"})
WORDS: Mapping[str, frozenset[str]] = {
    "os": frozenset({"windows", "linux", "other"}),
    "python_kind": frozenset(get_args(PythonKind)) - {"unknown"},
    "torch_build": frozenset({"cpu", "cuda", "rocm", "xpu"}),
    "pip_target": frozenset({"same", "other"}),  # pip's environment against the one that runs
}
ABSENT = "absent"  # known not to be installed

_WORD = re.compile(r"\(\?P>(\w+)\)")  # as PCRE calls a named part of an expression


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What the signatures of all files may name."""

    words: Mapping[str, str]
    marks: Mapping[str, LinePattern]


def signature(table: Table, vocabulary: Vocabulary) -> Signature:
    """Read one signature. Raises CatalogueError."""
    unknown = table.choice("unknown", CERTAINTIES) if "unknown" in table.names() else None
    found = Signature(
        pattern=pattern(table, vocabulary.words),
        certainty=table.choice("certainty", CERTAINTIES),
        before=_patterns(table, "before", vocabulary),
        near=table.take("near", bool, False),
        after=_patterns(table, "after", vocabulary),
        without=_patterns(table, "without", vocabulary),
        when=tuple(
            _condition(item, fact) for item in table.optional_table("when") for fact in item.names()
        ),
        unknown=unknown,
    )
    if found.near and not found.before:
        table.fail("near is of no use without before")
    if unknown and not found.when:
        table.fail("unknown is of no use without when")
    table.end()
    return found


def pattern(table: Table, words: Mapping[str, str]) -> LinePattern:
    """Read `anchor` and `line`. Raises CatalogueError."""
    anchors = table.one_or_more("anchor")
    if not anchors:
        table.fail("anchor is missing")
    for anchor in anchors:
        if not any(len(key.word) >= MIN_WORD for key in keys(anchor)):
            table.fail(f"anchor {anchor!r} has no piece of {MIN_WORD} characters")
    line = table.take("line", str) if "line" in table.names() else None
    return LinePattern(anchors=anchors, line=line and spelled_out(table, line, words))


def spelled_out(table: Table, line: str, words: Mapping[str, str]) -> str:
    """A regular expression with the words that it names in their place. Raises CatalogueError."""

    def word(found: re.Match[str]) -> str:
        if found[1] not in words:
            table.fail(f"unknown word {found[1]!r}")
        return f"(?:{words[found[1]]})"

    return _WORD.sub(word, line)


def _patterns(table: Table, name: str, vocabulary: Vocabulary) -> tuple[LinePattern, ...]:
    found = []
    for item in table.take(name, list, []):
        if isinstance(item, str):
            if item not in vocabulary.marks:
                table.fail(f"unknown mark {item!r}")
            found.append(vocabulary.marks[item])
        else:
            inner = Table(item, table.where)
            found.append(pattern(inner, vocabulary.words))
            inner.end()
    return tuple(found)


def _condition(table: Table, fact: str) -> Condition:
    allowed = table.one_or_more(fact)
    if fact in VERSIONS:
        for text in allowed:
            _check_range(table, fact, text)
    elif fact not in WORDS:
        table.fail(f"unknown fact {fact!r}")
    elif unknown := set(allowed) - WORDS[fact]:
        table.fail(f"{fact}: unknown value {min(unknown)!r}")
    return Condition(fact=fact, allowed=allowed)


def _check_range(table: Table, fact: str, text: str) -> None:
    try:
        SpecifierSet("" if text == ABSENT else text)
    except InvalidSpecifier:
        table.fail(f"{fact}: not a range of versions: {text!r}")
