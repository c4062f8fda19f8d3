"""The rules applied to a text: pure, and the same for the files on disk and the import hook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tritonwin.patch.edits import NoEdit, NotPython, Source, parsed
from tritonwin.patch.model import Flavour, Rule, RuleState


@dataclass(frozen=True)
class Verdict:
    """What a rule says to a text: its state, why, and the edited text where there is one."""

    state: RuleState
    reason: str
    text: str | None = None


@dataclass(frozen=True)
class Outcome:
    """A text after the rules: what each did or why it did nothing, by its id."""

    text: str
    applied: tuple[str, ...]
    skipped: dict[str, Verdict]


class BrokenEdit(Exception):  # noqa: N818
    """A rule made something of a Python source that is no Python: a fault of ours."""


def judge(rule: Rule, source: Source, flavour: Flavour) -> Verdict:
    """How a rule stands in a text with `\\n` line ends."""
    if flavour == "fork" and rule.backend == "amd":
        return Verdict("not-applicable", "triton-windows supports AMD GPUs in its own way, or not")
    if is_applied(rule, source.text):
        return Verdict("applied", "tritonwin's edit is there")
    try:
        return Verdict("needed", rule.removes, rule.edit(source))
    except NoEdit as answer:
        return Verdict(_state(answer, flavour), answer.reason)


def is_applied(rule: Rule, text: str) -> bool:
    start = text.find(rule.marker)
    while start >= 0:
        after = text[start + len(rule.marker) :][:1]
        if not (after.isalnum() or after == "-"):
            return True
        start = text.find(rule.marker, start + 1)
    return False


def transform(file: str, text: str, rules: Iterable[Rule], flavour: Flavour) -> Outcome:
    """Apply those of the rules that are about `file` and needed, in their order.

    A Python file that does not parse to begin with is left as it is.

    Args:
        text: with `\\n` line ends.

    Raises:
        BrokenEdit: the result is no Python, though the text was.
    """
    applied: list[str] = []
    skipped: dict[str, Verdict] = {}
    source = Source(text)
    for rule in rules:
        if rule.file != file:
            continue
        verdict = judge(rule, source, flavour)
        if verdict.text is None:
            skipped[rule.id] = verdict
            continue
        source = Source(verdict.text)
        applied.append(rule.id)
    if applied and file.endswith(".py") and (fault := _fault(source.text)):
        # asked last: rules that edit by text alone need no parse, and most files are whole
        before = _fault(text)
        if not before:
            msg = f"{file} after {', '.join(applied)}: {fault}"
            raise BrokenEdit(msg)
        broken = Verdict("unknown", f"it does not parse: {before}")
        return Outcome(text, (), {**skipped, **dict.fromkeys(applied, broken)})
    return Outcome(source.text, tuple(applied), skipped)


def _state(answer: NoEdit, flavour: Flavour) -> RuleState:
    if answer.state == "absent":
        return "not-applicable"
    if answer.state == "unknown":
        return "unknown"
    return "fixed-by-fork" if flavour == "fork" else "fixed-upstream"


def _fault(text: str) -> str:
    """Why a text is no Python, "" where it is."""
    try:
        parsed(text)
    except NotPython as error:
        return str(error)
    return ""
