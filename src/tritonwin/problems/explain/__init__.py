"""A log to problems: scan it once, weigh the lines that match, put the root cause first."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path, PureWindowsPath
from typing import BinaryIO

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.advice import ANY_PYTHON, started
from tritonwin.problems.conditions import allows, value_of
from tritonwin.problems.doctor import Rank, by_certainty, findings_of, problems_of
from tritonwin.problems.explain.decode import text_blocks
from tritonwin.problems.explain.lines import without_escapes
from tritonwin.problems.explain.log_facts import NOT_SHOWN, LogFacts, facts_at, same_folder
from tritonwin.problems.explain.matches import Matches, Query, Window
from tritonwin.problems.explain.pair import of_versions, with_names
from tritonwin.problems.explain.pasted import restored
from tritonwin.problems.explain.scan import NEAR
from tritonwin.problems.explain.suspects import Suspects
from tritonwin.problems.records import (
    CERTAINTIES,
    Explanation,
    Finding,
    Problem,
    Question,
)
from tritonwin.system.shells import word

HEAD = 200_000  # characters, the beginning of a log

_NOT_LOADED = re.compile(r"DLL load failed while importing (\w+)")


def explain_file(path: str | Path, snapshot: Facts | None = None) -> Explanation:
    """Explain a log file of any size and encoding. Raises OSError."""
    with Path(path).open("rb") as stream:
        return explain_stream(stream, snapshot)


def explain_lines(lines: Iterable[str], snapshot: Facts | None = None) -> Explanation:
    """Explain lines that are text already, with or without their line ends."""
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return explain_stream(io.BytesIO(text.encode("utf-8", "replace")), snapshot)


def explain_stream(stream: BinaryIO, snapshot: Facts | None = None) -> Explanation:
    """Explain a log from its bytes, read once; memory does not grow with its length."""
    query = _query(catalogue.load())
    matches = Matches(query)
    suspects = Suspects()
    line = 1
    tail = last = ""
    guessed = False
    for block, glued in restored(text_blocks(stream)):
        guessed |= glued
        text = tail + without_escapes(block)
        found = query.scanner.candidates(text, line, len(tail), matches.given_up)
        if line == 1:  # all of a log that somebody pasted: it may have been wrapped
            head = text[: text.find("\n", HEAD) + 1 or len(text)]
            both = (*found, *query.scanner.wrapped(head))
            # after its parts: where one of them says all, it is what will be quoted
            found = iter(sorted(both, key=attrgetter("last")))
        for candidate in found:
            matches.look(candidate)
        suspects.feed(block, line)
        line += block.count("\n")
        tail = text[-NEAR:]
        last = block[-1:] or last
    return _verdict(matches, suspects, line - (last in ("", "\n")), snapshot, guessed)


@cache
def _query(known: catalogue.Catalogue) -> Query:
    return Query(known)


def _verdict(
    matches: Matches, suspects: Suspects, lines: int, snapshot: Facts | None, guessed: bool
) -> Explanation:
    log = matches.facts
    findings: list[Finding] = []
    last: dict[str, int] = {}
    for window in () if log.foreign else matches.found():
        if found := _finding(window, log, snapshot):
            if guessed and found.certainty == "certain":
                found = replace(found, certainty="likely")
            findings.append(found)
            last[found.id] = max(last.get(found.id, 0), *(hit.line for hit in window.hits))
    findings.sort(key=lambda f: CERTAINTIES.index(f.certainty))
    if snapshot:
        findings += _confirmed(findings, snapshot)
    facts = facts_at(log, lines, snapshot)
    findings = with_names(findings, log, facts)
    if (findings or suspects.found()) and not log.foreign:
        findings += of_versions(log, facts)

    def rank(problem: Problem) -> Rank:
        """Causes of the end of the program before mere messages, and what is only implied last."""
        printed = problem.certainty != "certain" and last.get(problem.id, lines) < suspects.stopped
        implied = problem.certainty == "possible" and problem.id not in last
        severity, certainty, *rest = by_certainty(problem)
        return (int(implied), severity, certainty, int(printed), *rest)

    problems = tuple(
        _with_question(problem, facts) for problem in problems_of(findings, facts, rank)
    )
    unknown = all(p.severity == "info" for p in problems)
    return Explanation(
        problems=problems,
        known=tuple(
            replace(lines[0].evidence, text=f"{name} {lines[0].groups[name]}")
            for name, lines in log.stated.items()
            if name not in NOT_SHOWN
        ),
        suspicious=tuple(suspects.found()) if unknown else (),
        facts=facts,
        lines=lines,
    )


def _finding(window: Window, log: LogFacts, snapshot: Facts | None) -> Finding | None:
    signature = window.sought.signature
    when = signature.when.conditions()
    for hit in window.hits:
        facts = facts_at(log, hit.line, snapshot)
        met = [allows(fact, allowed, _value(fact, facts, log, hit.line)) for fact, allowed in when]
        certainty = signature.unknown if None in met else signature.certainty
        if False in met or certainty is None:
            continue
        stated = (log.at(hit.line, *_RESTS_ON.get(fact, (fact,))) for fact, _ in when)
        lines = (hit, *window.before.values(), *window.after.values(), *filter(None, stated))
        return Finding(
            id=window.sought.entry.id,
            evidence=tuple(dict.fromkeys(each.evidence for each in lines)),
            certainty=certainty,
            values=_owner(hit.text, facts)
            | signature.values
            | {n: v for each in (*window.before.values(), hit) for n, v in each.groups.items()},
        )
    return None


def _owner(line: str, facts: Facts) -> dict[str, str]:
    """The package whose RECORD lists the compiled module that a line says was not loaded."""
    module = _NOT_LOADED.search(line)
    names = module and {
        e.package
        for e in facts.extensions
        if PureWindowsPath(e.path).name.partition(".")[0] == module[1]
    }
    return {"package": names.pop()} if names and len(names) == 1 else {}


# The statements that a condition rests on, where they do not bear its name.
_RESTS_ON = {
    "gpu": ("gpu", "gpu_name"),
    "amd": ("zluda", "amd_gpu"),
    "torch_build": ("torch",),
    "cuda": ("cuda", "torch"),
    "python_kind": ("running", "prefix", "executable", "embedded"),
    "pip_target": ("pip_prefix",),
    "os": ("linux", "prefix", "running", "executable", "embedded"),
    "msvc": ("msvc", "msc"),
}


def _value(fact: str, facts: Facts, log: LogFacts, line: int) -> str | None:
    """The value of a condition's fact at a line of the log."""
    if fact == "pip_target":
        pip, running = log.value(line, "pip_prefix"), log.value(line, "prefix")
        if pip is None or running is None:
            return None
        return "same" if same_folder(pip, running) else "other"
    known = value_of(fact, facts)
    if fact == "os" and known is None and (match := log.at(line, *_RESTS_ON["os"])):
        return "linux" if "linux" in match.groups else "windows"
    return known


def _confirmed(findings: Iterable[Finding], snapshot: Facts) -> Iterator[Finding]:
    """Findings in the snapshot of problems that the log shows, and of those that explain them."""
    from tritonwin.problems.checks import CHECKS

    ids = {f.id for f in findings}
    for found in findings_of(snapshot, CHECKS):
        explained = catalogue.load().entry(found.id).explains
        if found.id in ids or not ids.isdisjoint(explained):
            yield found


def _with_question(problem: Problem, facts: Facts) -> Problem:
    """The problem; an open one without a question asks for the check of the same id."""
    checked = not catalogue.load().entry(problem.id).log_only
    if problem.certainty == "certain" or problem.question or not checked:
        return problem
    named = facts.target and word(facts.target.executable) == (python := started(facts.target))
    target = f" --python {python}" if named and python != ANY_PYTHON else ""
    question = Question(
        text="Does this hold on the machine?",
        command=f"tritonwin doctor{target} --only {problem.id}",
    )
    return replace(problem, question=question)
