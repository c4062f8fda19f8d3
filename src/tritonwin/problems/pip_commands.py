"""Commands that call pip, for a Python in which there is none.

uv makes environments without pip, and installs into them from outside. Any other environment gets
pip from its own standard library, which only python.org's embeddable archive leaves out.
"""

from __future__ import annotations

from dataclasses import replace

from tritonwin.facts.model import Interpreter
from tritonwin.problems.model import Problem

_OF_UV = frozenset({"install", "uninstall", "list"})


def for_target(problem: Problem, target: Interpreter | None, python: str) -> Problem:
    """The problem with commands that can be typed as they are.

    Args:
        python: what starts the target in the user's shell, as it stands in the commands.
    """
    if target is None or target.has_pip is not False:
        return problem
    question = problem.question
    asked = _adapted((question.command,), target, python) if question else ()
    return replace(
        problem,
        remedy=replace(problem.remedy, commands=_adapted(problem.remedy.commands, target, python)),
        question=replace(question, command=asked[-1]) if question and asked else None,
    )


def _adapted(commands: tuple[str, ...], target: Interpreter, python: str) -> tuple[str, ...]:
    start = f"{python} -m pip "
    if not any(command.startswith(start) for command in commands):
        return commands
    if target.kind == "uv" or "uv" in target.managers:
        return tuple(
            _of_uv(command.removeprefix(start), python) if command.startswith(start) else command
            for command in commands
            if not command.startswith(start) or command.removeprefix(start).split()[0] in _OF_UV
        )
    if target.kind == "embedded":
        return ()  # the rest of a sequence without its pip would be half of it
    return (f"{python} -m ensurepip", *commands)


def _of_uv(words: str, python: str) -> str:
    """The same in the words of uv, which asks nothing: `uninstall -y triton`."""
    action, _, rest = words.partition(" ")
    if action == "uninstall":
        rest = rest.removeprefix("-y ")
    return f"uv pip {action} --python {python} {rest}".rstrip()
