"""Put a finding into the catalogue's words."""

from __future__ import annotations

from collections.abc import Mapping

from tritonwin.problems import placeholders
from tritonwin.problems.catalogue import load
from tritonwin.problems.model import Action, Entry, Finding, Problem, Question, Remedy


def render(finding: Finding, python_command: str) -> Problem:
    """The problem that a finding stands for, its placeholders filled.

    `python_command` is what starts the user's interpreter in the user's shell, already quoted.
    What a finding does not say becomes a neutral word in a sentence; commands and automatic
    repairs that would need it are left out. `explains` is empty: what a problem makes moot is known
    only to whoever holds all findings.

    Raises:
        UnknownProblemError: the catalogue has no such id.
    """
    entry = load().entry(finding.id)
    values = {**finding.values, "python": python_command}
    actions = _actions(entry, values)
    return Problem(
        id=entry.id,
        severity=finding.severity or entry.severity,
        certainty=finding.certainty,
        title=entry.title,
        cause=placeholders.sentence(entry.cause, values),
        evidence=finding.evidence,
        remedy=Remedy(
            summary=placeholders.sentence(entry.remedy.summary, values),
            commands=placeholders.commands(entry.remedy.commands, values),
            automatic=entry.remedy.automatic and bool(actions),
        ),
        references=entry.references,
        actions=actions,
        question=None if finding.certainty == "certain" else _question(entry, values),
    )


def _question(entry: Entry, values: Mapping[str, str]) -> Question | None:
    if entry.question is None:
        return None
    command = placeholders.commands([entry.question.command], values)
    if not command:
        return None
    return Question(text=placeholders.sentence(entry.question.text, values), command=command[0])


def _actions(entry: Entry, values: Mapping[str, str]) -> tuple[Action, ...]:
    """All actions of an entry, or none: half a repair may leave less than there was."""
    actions = []
    for action in entry.actions:
        arguments = {}
        for name, text in action.arguments.items():
            value = placeholders.argument(text, values)
            if value is None:
                return ()
            arguments[name] = value
        actions.append(Action(name=action.name, arguments=arguments))
    return tuple(actions)
