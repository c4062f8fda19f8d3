"""Rules applied to a text: pure, the same for the files on disk and the import hook.

A rule is a row of `rules/rules.toml` and a function from a source to its edited text. This module,
`edits`, `rules`, `payload` and `hook/apply` are valid on Python 3.9 and use the standard library
alone: the hook carries them into a target. Hence no `kw_only` here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from tritonwin.patch import payload
from tritonwin.patch.edits import NoEdit, Source, substituted

RuleState = Literal[
    "needed",  # the defect is there, in a form that the rule can edit
    "applied",  # by tritonwin: the marker is there
    "fixed-upstream",  # the place is there and works on Windows
    "fixed-by-fork",  # the same, in triton-windows
    "not-applicable",  # this Triton has no such place
    "unknown",  # the place is there in a form that the rule does not know
]
Flavour = Literal["fork", "upstream"]
Need = Literal[
    "jit",  # no kernel compiles or launches without it
    "robust",  # fails in some situations, or misleads
    "tools",  # outside compiling and launching kernels
]
Edit = Callable[[Source, str], str]


@dataclass(frozen=True)
class TextStep:
    """A step of an edit of text alone: a reason not to edit, or a replacement.

    Attributes:
        where, unless: regular expressions in multi-line mode. `state` (see `NoEdit`) and `reason`
            are the answer for a text that has the first, or lacks the second.
        old: an expression that is replaced by `new`; in it "{marker}" stands for the rule's.
        times: how often it must be found; None: at least once.
        append: the file of `payload` whose code the module gets at its end.
    """

    where: str = ""
    unless: str = ""
    state: Literal["fixed", "absent", "unknown"] = "unknown"
    reason: str = ""
    old: str = ""
    new: str = ""
    times: int | None = None
    append: str = ""


@dataclass(frozen=True)
class Rule:
    """A defect of Triton's sources on Windows, as `rules/rules.toml` describes it, and its edit."""

    id: str
    defect: str
    file: str
    need: Need
    why: str
    removes: str
    covers: tuple[str, ...] = ()
    steps: tuple[TextStep, ...] = ()
    upstream: tuple[tuple[str, ...], ...] = ()
    fork: tuple[tuple[str, ...], ...] = ()

    @property
    def marker(self) -> str:
        return f"tritonwin:{self.id}"

    @property
    def backend(self) -> str | None:
        """The GPUs it is about: "nvidia", "amd"; None: all."""
        return self.file.split("/")[1] if self.file.startswith("backends/") else None

    def edit(self, source: Source) -> str:
        """The text without the defect, with the marker in a comment of each edited place.

        It is pure, structure decides and never a version, and other systems keep the behaviour
        that they had. Raises `edits.NoEdit` where there is nothing to edit, and why.
        """
        if not self.steps:
            return declared[self.id](source, self.marker)
        text = source.text
        for step in self.steps:
            if step.old:
                times = step.times or len(re.findall(step.old, text, re.MULTILINE)) or 1
                new = step.new.replace("{marker}", self.marker)
                text = substituted(text, step.old, new, times)
            elif step.append:
                text = payload.appended(text, step.append, self.marker)
            elif bool(re.search(step.where or step.unless, text, re.MULTILINE)) == bool(step.where):
                raise NoEdit(step.state, step.reason)
        return text


@dataclass(frozen=True)
class RuleChoice:
    """Rules by their ids (none: all), and whether files of no known release are edited."""

    only: tuple[str, ...] = ()
    allow_unknown: bool = False

    def takes(self, rule: str) -> bool:
        return not self.only or rule in self.only


declared: dict[str, Edit] = {}  # by the ids of rules


def edits(*rules: str) -> Callable[[Edit], Edit]:
    """Declare the decorated function as the edit of these rules; see `Rule.edit`."""

    def declare(edit: Edit) -> Edit:
        declared.update(dict.fromkeys(rules, edit))
        return edit

    return declare


@dataclass(frozen=True)
class Verdict:
    """The state of a rule in a text, the reason, and the edited text if there is one."""

    state: RuleState
    reason: str
    text: str | None = None


@dataclass(frozen=True)
class Transformed:
    """A text after the rules: those applied, and the reasons of those that do not know its form."""

    text: str
    applied: tuple[str, ...]
    unknown: dict[str, str]


def judge(rule: Rule, source: Source, flavour: Flavour) -> Verdict:
    """The state of a rule in a text with `\\n` line ends."""
    if flavour == "fork" and rule.backend == "amd":
        return Verdict("not-applicable", "triton-windows supports AMD GPUs in its own way, or not")
    if is_applied(rule, source.text):
        return Verdict("applied", "tritonwin's edit is there")
    states: dict[str, RuleState] = {"absent": "not-applicable", "unknown": "unknown"}
    try:
        return Verdict("needed", rule.removes, rule.edit(source))
    except NoEdit as answer:
        fixed: RuleState = "fixed-by-fork" if flavour == "fork" else "fixed-upstream"
        return Verdict(states.get(answer.state, fixed), answer.reason)
    except RecursionError:  # the parser goes deeper than Python's own functions can follow
        return Verdict("unknown", "it is nested too deeply")


def is_applied(rule: Rule, text: str) -> bool:
    return bool(re.search(re.escape(rule.marker) + r"(?![^\W_]|-)", text))


def transform(file: str, text: str, rules: Iterable[Rule], flavour: Flavour) -> Transformed:
    """Apply those of the rules that are about `file` and needed, in their order.

    A Python file that does not parse, or would not after the edits, is left as it is: rules that
    edit C in Python's strings do not see whether it stands in a string.

    Args:
        text: with `\\n` line ends.
    """
    source, applied, unknown = Source(text), [], {}
    for rule in rules:
        if rule.file != file:
            continue
        verdict = judge(rule, source, flavour)
        if verdict.text is not None:
            source = Source(verdict.text)
            applied.append(rule.id)
        elif verdict.state == "unknown":
            unknown[rule.id] = verdict.reason
    if applied and file.endswith(".py") and source.fault:
        fault = Source(text).fault
        reason = f"edited, it would not parse: {source.fault}"
        if fault:
            reason = f"it does not parse: {fault}"
        return Transformed(text, (), {**unknown, **dict.fromkeys(applied, reason)})
    return Transformed(source.text, tuple(applied), unknown)


# -- the releases whose sources the rules were tried on, by content, never by a version string:
# builds are patched, mixed and renamed


@functools.cache
def known_sources() -> dict[str, dict[str, list[str]]]:
    """File -> digest of its text -> releases; made by tools/refresh.py."""
    data = pkgutil.get_data("tritonwin.patch", "known_sources.json")
    assert data is not None  # noqa: S101 - it lies beside this module
    table: dict[str, dict[str, list[str]]] = json.loads(data)
    return table


def digest(text: str) -> str:
    """The key of a text with `\\n` line ends."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def releases(file: str, text: str) -> tuple[str, ...]:
    """The releases that hold this content: "3.6.0", "triton-windows 3.5.1.post24"; or none."""
    return tuple(known_sources().get(file, {}).get(digest(text), ()))
