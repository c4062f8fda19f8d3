"""Output for people. Our own words are plain ASCII; colour is an addition, never the message."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tritonwin import __version__
from tritonwin.facts.records import Facts
from tritonwin.output.environment import gpu_name, triton_name
from tritonwin.output.invocation import speaking
from tritonwin.output.text import printable
from tritonwin.problems import catalogue
from tritonwin.problems.checks.check import Check
from tritonwin.problems.records import CheckState, Diagnosis, Problem
from tritonwin.system.shells import word

_STYLES: dict[str, str] = {
    "ok": "green",
    "info": "cyan",
    "warning": "yellow",
    "problem": "bold red",
    "error": "bold red",
    "not-applicable": "dim",
    "crashed": "magenta",
}
_WORDS: dict[CheckState, str] = {
    "ok": "ok",
    "info": "info",
    "warning": "warning",
    "problem": "problem",
    "not-applicable": "n/a",
    "crashed": "crashed",
}
_WIDTH = max(len(w) for w in _WORDS.values())
# wide enough that a path or a command is not broken where nobody sees the output
_PIPE_WIDTH = 1000
_PROSE_WIDTH = 100
_MOST_EVIDENCE = 20  # of a problem; a hostile snapshot may bring a hundred thousand
_LONGEST_TEXT = 1500
_NARROWEST = 30  # a terminal may call itself one of 0 columns


def console(stream: TextIO | None = None) -> Console:
    """A console that honours NO_COLOR and FORCE_COLOR and keeps commands whole in a pipe.

    Args:
        stream: where it writes; None: standard output.
    """
    stream = stream or sys.stdout
    interactive = stream.isatty()
    made = Console(
        file=speaking(stream),
        highlight=False,
        emoji=False,
        markup=False,
        # rich would still write bold and dim, which is no plain text either
        force_terminal=False if os.environ.get("NO_COLOR") else None,
        width=None if interactive else _PIPE_WIDTH,
    )
    made.width = max(made.width, _NARROWEST)
    return made


def print_checks(checks: Iterable[Check]) -> None:
    out = console()
    for check in checks:
        out.print(Text.assemble((check.id, "bold"), f"  {check.title}"), soft_wrap=True)


def print_snapshot_written(path: Path) -> None:
    out = console()
    out.print(Text(f"written: {printable(str(path))}"), soft_wrap=True)
    out.print(Text("Look at it before you send it; it is plain text."), soft_wrap=True)


def print_note(text: str) -> None:
    console().print(Text(printable(text)), soft_wrap=True)


def print_story(title: str, facts: Facts, diagnosis: Diagnosis) -> None:
    """A diagnosis in short: the machine, how many checks are fine, and the gravest problem."""
    out = console()
    out.print(Text(printable(f"== {title}"), "bold"), soft_wrap=True)
    for line in list(_head(facts))[1:]:
        out.print(Text(printable(line), "dim"), soft_wrap=True)
    fine = sum(c.state == "ok" for c in diagnosis.checks)
    out.print(Text(f"{fine} checks ok. {verdict(diagnosis)}"), soft_wrap=True)
    for problem in diagnosis.problems[:1]:
        if problem.severity != "info":
            print_problem(out, problem)
    out.print()


def print_diagnosis(facts: Facts, diagnosis: Diagnosis) -> None:
    out = console()
    for line in _head(facts):
        out.print(Text(printable(line)), soft_wrap=True)
    out.print()
    for result in diagnosis.checks:
        row = Text.assemble(
            ("  " + _WORDS[result.state].ljust(_WIDTH), _STYLES[result.state]),
            "  " + result.title,
        )
        if result.state in {"not-applicable", "crashed"}:
            row.append(f" ({printable(result.detail)})", "dim")
        out.print(row, soft_wrap=True)
    for problem in diagnosis.problems:
        out.print()
        print_problem(out, problem)
    for error in facts.errors:
        out.print()
        out.print(Text(f"not read: {error.collector} ({printable(error.error)})"), soft_wrap=True)
    out.print()
    out.print(Text(verdict(diagnosis)), soft_wrap=True)
    if any(p.remedy.automatic and p.severity != "info" for p in diagnosis.problems):
        out.print(Text("To see what fix would do about it:"), soft_wrap=True)
        out.print(Text(f"      {printable(_fix_command(facts))}", "bold"), soft_wrap=True)


def _fix_command(facts: Facts) -> str:
    """For the same Python: one that was named has to be named again."""
    target = facts.target
    named = target is not None and target.source.startswith(("--python", "the Python of the appl"))
    python = word(target.executable) if target and named else None
    return f"tritonwin fix --dry-run{f' --python {python}' if python else ''}"


def _head(facts: Facts) -> Iterable[str]:
    target = facts.target
    yield f"tritonwin {__version__}"
    if target:
        yield f"Python {target.version} ({target.kind})  {target.executable}"
    parts = [f"torch {facts.torch.version}" if facts.torch else "no torch"]
    parts.append(triton_name(facts) or "no Triton")
    parts += map(gpu_name, facts.gpus)
    parts += [f"driver {d.version}" for d in facts.drivers if d.version]
    yield "  ".join(parts)


def print_problem(out: Console, problem: Problem) -> None:
    """Cause, evidence and help, and the question that would decide where it is not certain."""
    style = _STYLES[problem.severity]
    sure = "" if problem.certainty == "certain" else f", {problem.certainty}"
    out.print(
        Text.assemble(
            (f"{problem.severity}{sure}: ", style),
            (problem.title, "bold"),
            (f"  [{problem.id}]", "dim"),
        ),
        soft_wrap=True,
    )
    wrapped(out, problem.cause)
    for item in problem.evidence[:_MOST_EVIDENCE]:
        out.print(Text(f"    - {_in_short(item.text)}"), soft_wrap=True)
        out.print(Text(f"      in {_in_short(item.where)}", "dim"), soft_wrap=True)
    if len(problem.evidence) > _MOST_EVIDENCE:
        more = len(problem.evidence) - _MOST_EVIDENCE
        out.print(Text(f"    - and {more} more, with --json"), soft_wrap=True)
    wrapped(out, "help: " + problem.remedy.summary)
    for command in problem.remedy.commands:
        # a command is copied: never wrapped, never coloured inside
        out.print(Text("      " + printable(command), "bold"), soft_wrap=True)
    if problem.question:
        wrapped(out, "to be sure: " + problem.question.text)
        out.print(Text("      " + printable(problem.question.command), "bold"), soft_wrap=True)
    if problem.explains:
        titles = [catalogue.load().entry(i).title for i in problem.explains]
        wrapped(out, "This also explains: " + "; ".join(titles) + ".")
    for reference in problem.references:
        out.print(Text(f"    see {reference}", "dim"), soft_wrap=True)


def _in_short(text: str) -> str:
    """A variable may hold 32,000 characters; its beginning tells enough."""
    cut = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
    return printable(cut)


def wrapped(out: Console, text: str) -> None:
    """Print a paragraph, indented; foreign text in it is made safe."""
    indent = " " * 4
    width = min(out.width, _PROSE_WIDTH) if out.is_terminal else _PIPE_WIDTH
    lines = textwrap.wrap(_in_short(text), width, initial_indent=indent, subsequent_indent=indent)
    out.print(Text("\n".join(lines)), soft_wrap=True)


def counted(problems: Sequence[Problem]) -> str:
    """How many problems there are, and how to copy commands of Windows into PowerShell."""
    counts = {s: sum(p.severity == s for p in problems) for s in ("error", "warning")}
    text = f"{counts['error']} error(s), {counts['warning']} warning(s)."
    commands = [c for p in problems for c in p.remedy.commands]
    if any(c.startswith('"') and not c.startswith('"/') for c in commands):
        text += " In PowerShell put & before a command that starts with a quote."
    return text


def verdict(diagnosis: Diagnosis) -> str:
    """The last line: how it stands."""
    crashed = sum(c.state == "crashed" for c in diagnosis.checks)
    if diagnosis.healthy:
        text = "Nothing is wrong that these checks can see."
    else:
        text = counted(diagnosis.problems)
    return text + (f" {crashed} check(s) could not be run." if crashed else "")
