"""The rules applied to a text: pure, and the same for the files on disk and the import hook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tritonwin.patch.edits import NoEdit, Source
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
    except RecursionError:  # the parser goes deeper than Python's own functions can follow
        return Verdict("unknown", "it is nested too deeply")


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

    A Python file that does not parse to begin with is left as it is, and no edit is made that would
    leave one so: rules that edit C in Python's strings do not see whether it stands in a string.

    Args:
        text: with `\\n` line ends.
    """
    mine = [rule for rule in rules if rule.file == file]
    original = Source(text)
    source, applied, skipped = _edited(mine, original, flavour)
    if applied and file.endswith(".py") and source.fault:
        # asked last: rules that edit by text alone need no parse, and most files are whole
        if original.fault:
            broken = Verdict("unknown", f"it does not parse: {original.fault}")
            return Outcome(text, (), {**skipped, **dict.fromkeys(applied, broken)})
        source, applied, skipped = _edited(mine, original, flavour, each_parsed=True)
    return Outcome(source.text, tuple(applied), skipped)


def _edited(
    rules: Iterable[Rule], source: Source, flavour: Flavour, *, each_parsed: bool = False
) -> tuple[Source, list[str], dict[str, Verdict]]:
    applied: list[str] = []
    skipped: dict[str, Verdict] = {}
    for rule in rules:
        verdict = judge(rule, source, flavour)
        if verdict.text is not None:
            edited = Source(verdict.text)
            if not (each_parsed and edited.fault):
                source = edited
                applied.append(rule.id)
                continue
            verdict = Verdict("unknown", f"edited, it would not parse: {edited.fault}")
        skipped[rule.id] = verdict
    return source, applied, skipped


def _state(answer: NoEdit, flavour: Flavour) -> RuleState:
    if answer.state == "absent":
        return "not-applicable"
    if answer.state == "unknown":
        return "unknown"
    return "fixed-by-fork" if flavour == "fork" else "fixed-upstream"
