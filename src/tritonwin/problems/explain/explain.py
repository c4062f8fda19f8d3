"""A log to problems: scan it once, weigh what was seen, put the root cause first."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from tritonwin.facts.model import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.context import context
from tritonwin.problems.doctor import by_certainty, findings_of, fold, merge, shell_word
from tritonwin.problems.explain.conditions import holds, source
from tritonwin.problems.explain.decode import text_blocks
from tritonwin.problems.explain.hits import Collector, Hit, Sought, Watch
from tritonwin.problems.explain.log_facts import LogFacts, facts_at
from tritonwin.problems.explain.normalise import clean
from tritonwin.problems.explain.scan import Scanner
from tritonwin.problems.explain.suspects import Suspects
from tritonwin.problems.explain.wrapped import joined, width_of
from tritonwin.problems.model import (
    CERTAINTIES,
    Certainty,
    Evidence,
    Finding,
    Problem,
    Question,
)
from tritonwin.problems.pip_commands import for_target
from tritonwin.problems.render import render

HEAD = 200_000  # characters, the beginning of a log
MAX_QUOTE = 500  # characters of a line that is quoted


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a log shows.

    Attributes:
        problems: the root cause first, what it explains folded into it.
        known: what the log says about the machine, with the lines that say it.
        suspicious: where to look when no problem is known: first error, last exception.
        facts: the machine as the log, and the snapshot if any, describe it at the log's end.
        lines: how many lines were read.
    """

    problems: tuple[Problem, ...]
    known: tuple[Evidence, ...]
    suspicious: tuple[Evidence, ...]
    facts: Facts
    lines: int

    @property
    def healthy(self) -> bool:
        """Nothing worse than information was recognised."""
        return all(p.severity == "info" for p in self.problems)


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
    collector = Collector(_sought(catalogue.load()))
    scanner = Scanner(collector.patterns, collector)
    suspects = Suspects()
    line = 1
    last = ""
    for block in text_blocks(stream):
        head = block.find("\n", HEAD) + 1 or len(block) if line == 1 else 0
        if head:
            _scan_head(scanner, block[:head])
        scanner.feed(block[head:], line + block.count("\n", 0, head))
        suspects.feed(block, line)
        line += block.count("\n")
        last = block[-1:] or last
    return _verdict(collector, suspects, line - (last in ("", "\n")), snapshot)


@cache
def _sought(known: catalogue.Catalogue) -> Sought:
    return Sought(known.entries.values())


def _scan_head(scanner: Scanner, block: str) -> None:
    """The beginning, which is all of a log that somebody pasted: it may have been wrapped."""
    lines = block.split("\n")
    width = width_of(lines)
    if width is None:
        scanner.feed(block, 1)
        return
    begin = 0
    readings = list(joined(lines, width))
    # most logs of narrow lines were not wrapped, and nothing is to be found in lines joined
    for reading in readings if scanner.patterns_in("\n".join(r.text for r in readings)) else ():
        if not scanner.patterns_in(reading.text):
            continue
        # after its parts: where one of them says all, it is what will be quoted
        if reading.last >= begin:
            scanner.feed("\n".join(lines[begin : reading.last + 1]), begin + 1)
            begin = reading.last + 1
        scanner.feed_line(reading.first + 1, reading.text)
    scanner.feed("\n".join(lines[begin:]), begin + 1)


def _verdict(
    collector: Collector, suspects: Suspects, lines: int, snapshot: Facts | None
) -> Explanation:
    log = collector.facts
    findings = [f for watch in collector.found() if (f := _finding(watch, log, snapshot))]
    findings.sort(key=lambda f: CERTAINTIES.index(f.certainty))
    if snapshot:
        findings += _confirmed(findings, snapshot)
    facts = facts_at(log, lines, snapshot)
    known = context(facts)
    python = shell_word(facts.target.executable) if facts.target else "python"
    problems = fold(
        [
            for_target(
                _problem(replace(f, values={**known, **f.values}), python), facts.target, python
            )
            for f in merge(findings)
        ],
        by_certainty,
    )
    unknown = all(p.severity == "info" for p in problems)
    return Explanation(
        problems=problems,
        known=tuple(_known(log)),
        suspicious=tuple(suspects.found()) if unknown else (),
        facts=facts,
        lines=lines,
    )


def _finding(watch: Watch, log: LogFacts, snapshot: Facts | None) -> Finding | None:
    signature = watch.signature
    for hit in watch.hits:
        facts = facts_at(log, hit.line, snapshot)
        verdicts = [holds(condition, facts, log, hit.line) for condition in signature.when]
        if False in verdicts:
            continue
        certainty: Certainty | None = signature.unknown if None in verdicts else signature.certainty
        if certainty is None:
            continue
        return Finding(
            id=watch.entry.id,
            evidence=tuple(dict.fromkeys(_evidence(watch, hit, log))),
            certainty=certainty,
            values=dict(hit.groups),
        )
    return None


def _evidence(watch: Watch, hit: Hit, log: LogFacts) -> Iterator[Evidence]:
    for seen in (hit, *watch.before.values(), *watch.after.values()):
        yield quote(seen.text, seen.line)
    for condition in watch.signature.when:
        if fact := source(condition, log, hit.line):
            yield quote(fact.text, fact.line)


def quote(line: str, number: int) -> Evidence:
    """A line of the log as evidence: without escapes, and not longer than can be read."""
    text = clean(line).strip()
    if len(text) > MAX_QUOTE:
        half = MAX_QUOTE // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return Evidence(text=text, where=f"line {number}")


def _confirmed(findings: Iterable[Finding], snapshot: Facts) -> Iterator[Finding]:
    """What the snapshot shows of the problems that the log shows, and of what explains them."""
    from tritonwin.problems.checks import CHECKS

    ids = {f.id for f in findings}
    for found in findings_of(snapshot, CHECKS):
        explained = catalogue.load().entry(found.id).explains
        if found.id in ids or not ids.isdisjoint(explained):
            yield found


def _problem(finding: Finding, python: str) -> Problem:
    problem = render(finding, python)
    if python == "python":  # of which nothing is known: the tool then looks for one itself
        commands = tuple(c.replace(" --python python", "") for c in problem.remedy.commands)
        problem = replace(problem, remedy=replace(problem.remedy, commands=commands))
    if problem.certainty == "certain" or problem.question:
        return problem
    if catalogue.load().entry(finding.id).log_only:
        return problem
    target = "" if python == "python" else f" --python {python}"
    question = Question(
        text="Does this hold on the machine?",
        command=f"tritonwin doctor{target} --only {finding.id}",
    )
    return replace(problem, question=question)


def _known(log: LogFacts) -> Iterator[Evidence]:
    for name, values in log.values().items():
        for seen in values[:1]:
            yield Evidence(text=f"{name} {seen.value}", where=f"line {seen.line}")
