"""The view of diagnoses and explanations: records in, blocks out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tritonwin import __version__
from tritonwin.facts.records import ChosenBy, Facts
from tritonwin.output import invocation, machine
from tritonwin.output.blocks import (
    EVIDENCE,
    Block,
    CodeBlock,
    Fold,
    Link,
    Prose,
    Section,
    Span,
    Table,
    TextLine,
    Tone,
    line,
)
from tritonwin.output.text import number
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import Layer, Row
from tritonwin.problems.records import (
    Certainty,
    CheckResult,
    CheckState,
    Diagnosis,
    Explanation,
    Problem,
    Severity,
)
from tritonwin.system.shells import word

_SEVERITIES: Mapping[Severity, tuple[str, Tone]] = {
    "error": ("problem", "bad"),
    "warning": ("warning", "warning"),
    "info": ("note", "notice"),
}
_CHECKS: Mapping[CheckState, tuple[str, Tone]] = {
    "ok": ("ok", "good"),
    "info": ("note", "notice"),
    "warning": ("warning", "warning"),
    "problem": ("problem", "bad"),
    "not-applicable": ("n/a", "absent"),
    "crashed": ("crashed", "crashed"),
}
# of a row of several checks: the first that one of them has
_WORST: tuple[CheckState, ...] = ("problem", "crashed", "warning", "ok", "info")
# The lines of the summary, from the ground up; a layer of the catalogue is in one of them.
_ROWS: Mapping[Row, tuple[Layer, ...]] = {
    "Windows": ("machine",),
    "driver": ("driver", "gpu"),
    "Python": ("interpreter", "environment", "headers"),
    "torch": (),
    "Triton": ("packages", "runtime"),
    "packages": ("binaries",),
    "compiler": ("compiler", "cuda"),
    "caches": ("cache",),
    "builds": ("build",),
}
_ONLY_IF_WRONG: frozenset[Row] = frozenset({"Windows", "packages", "builds"})
# What a problem keeps from working, by the row that it is in.
_SUBJECTS: Mapping[Row, str] = {"packages": "A package", "builds": "A build from source"}
_SURE: Mapping[Certainty, str] = {
    "certain": "will not", "likely": "will probably not", "possible": "may not",
}  # fmt: skip
# The user named the Python, so that commands name it again.
_NAMED: frozenset[ChosenBy | None] = frozenset({"python", "python-folder", "python-on-path", "app"})
_REPAIRED = "Repair it, which shows a plan first and asks:"
_MORE = "What is wrong, and what helps"
_ASK = "To have the machine itself examined, run there: tritonwin doctor"
_SEND = "Or send its facts along with the log: tritonwin snapshot"
_MOST_EVIDENCE = 20  # of a problem; a hostile snapshot may bring a hundred thousand
_FEW = 2  # notes on a screen; the others are counted
_LINES = 2  # of a cause, a piece of evidence or a remedy on a screen


@dataclass(frozen=True, kw_only=True)
class View:
    """A report: the answer to the person's question, then what it rests on.

    Attributes:
        schema: of the document with the same content; files with the report name it.
        healthy: nothing has to be done.
        before: what was read.
        machine: names and values, as a report of a bug has to have them.
        layers: one row each.
        notes: problems that break nothing.
        count: of problems and notes.
        after: what else there is to say, and the next step.
        here: it is of this machine, not of a snapshot.
        when: ISO 8601; None: now.
    """

    schema: str = ""
    headline: str
    healthy: bool
    tone: Tone
    before: tuple[Block, ...] = ()
    layers: Table | None = None
    machine: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    notes: Fold | None = None
    checks: Fold | None = None
    count: str = ""
    after: tuple[Block, ...] = ()
    here: bool = True
    when: str | None = None

    def screen(self, *, everything: bool) -> Iterator[Block]:
        """The answer, a line a layer, the problems, the count, the next step."""
        if everything:
            yield line(f"tritonwin {__version__}")
        yield Prose(self.headline, tone=self.tone, indent=0)
        yield from self.before
        yield from filter(None, (self.layers, self.checks))
        for each in self.sections:
            yield replace(each, title="") if each.title in self.headline else each
        if self.count:
            yield self.notes or TextLine()
            more = "" if everything or not (self.sections or self.notes) else " --all shows all."
            yield Prose(f"{self.count}{more}", indent=0)
        yield from self.after

    def status(self) -> Iterator[Block]:
        """The answer and the next step, for somebody who typed the name alone."""
        does, step = ("To prove it", "verify") if self.healthy else (_MORE, "doctor")
        yield Prose(self.headline, tone=self.tone, indent=0)
        yield line(f"Python {dict(self.machine)['Python']}", "faint")
        yield line(f"{does}: tritonwin {step}")
        yield line("Everything else: tritonwin --help", "faint")


def of_diagnosis(
    facts: Facts, diagnosis: Diagnosis, *, here: bool = True, whole: bool = True
) -> View:
    """The view of a diagnosis.

    Args:
        here: it is of this machine, not of a snapshot.
        whole: all checks were run.
    """
    problems, crashed = diagnosis.problems, len(diagnosis.crashed)
    grave = _grave(problems)
    fix = _for_target("fix", facts, here=here)
    sections = tuple(section(p, fix) for p in grave)
    last = [counted(problems, sections, here=here)] if problems else []
    if not here and grave:
        last.append("Commands: on the machine in question.")
    if crashed:
        last.append(f"{number(crashed, 'check')} failed: their problems may be there all the same.")
    unread = (line(f"not read: {error.collector} ({error.error})") for error in facts.errors)
    return View(
        schema="tritonwin.doctor/1",
        headline=_headline(grave, crashed=crashed, whole=whole),
        healthy=diagnosis.healthy,
        tone=_tone(grave[0]) if grave else "crashed" if crashed else "good",
        layers=Table(tuple(_layers(facts, diagnosis))),
        machine=tuple(machine.described(facts)),
        sections=sections,
        notes=_notes(problems),
        checks=_checks(diagnosis.checks),
        count=" ".join(last),
        after=(*unread, *(_proving(facts, diagnosis, here=here) if whole else ())),
        here=here,
    )


def of_explanation(explanation: Explanation, name: str, *, here: bool = True) -> View:
    """The view of an explanation.

    Args:
        name: of the log.
        here: the log may be of this machine; with a snapshot it is of another.
    """
    problems, grave = explanation.problems, _grave(explanation.problems)
    sections = tuple(map(section, grave))
    last = [counted(problems, sections, here=here)] if problems else []
    if any(p.remedy.commands or p.question for p in problems):
        last.append("Commands: on the machine that the log is of.")
    after: list[Block] = []
    if not grave and explanation.suspicious:
        lines = (line(f"{item.where}: {item.text}", indent=4) for item in explanation.suspicious)
        after = [line("The lines to look at first:"), *lines, line(_ASK), line(_SEND)]
    read = [line(f"{name}: {number(explanation.lines, 'line')}", "faint")]
    if explanation.known and (known := ", ".join(machine.versions(explanation.facts))):
        read.append(TextLine((Span("Found in the log: ", "faint"), Span(known, "faint"))))
    return View(
        headline=_cause(grave),
        healthy=explanation.healthy,
        tone=_tone(grave[0]) if grave else "good",
        before=tuple(read),
        sections=sections,
        notes=_notes(problems),
        count=" ".join(last),
        after=tuple(after),
        here=here,
    )


def _grave(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(p for p in problems if p.severity != "info")


def _tone(problem: Problem) -> Tone:
    return _SEVERITIES[problem.severity][1]


def _headline(grave: Sequence[Problem], *, crashed: int, whole: bool) -> str:
    if not grave and crashed:
        return "Nothing is wrong that the other checks can see."
    if not grave:
        well = "Triton should work here: nothing is wrong that doctor can see."
        return well if whole else "Nothing is wrong that these checks can see."
    first = grave[0]
    subject = _SUBJECTS.get(_row(first.id), "Triton")
    may = _SURE[first.certainty] if first.severity == "error" else "may not"
    return f"{subject} {may} work here: {first.title}."


def _cause(grave: Sequence[Problem]) -> str:
    if not grave:
        return "This log shows no problem that tritonwin knows."
    if grave[0].certainty == "possible" and len(grave) > 1:
        return f"{len(grave)} possible causes, the likeliest first."
    sure = {"certain": "The cause", "likely": "Most likely", "possible": "Possibly"}
    return f"{sure[grave[0].certainty]}: {grave[0].title}."


def counted(problems: Sequence[Problem], sections: Sequence[Section], *, here: bool = True) -> str:
    """ "1 problem, 2 notes.", and a hint for commands of Windows in PowerShell."""
    counts = Counter(_SEVERITIES[p.severity][0] for p in problems)
    words = (name for name, _ in _SEVERITIES.values())
    text = ", ".join(number(counts[name], name) for name in words if counts[name]) + "."
    commands = (b.text for each in sections for b in each.remedy if isinstance(b, CodeBlock))
    starts = (invocation.typed(text)[:2] if here else text[:2] for text in commands)
    if any(start[0] == '"' and start != '"/' for start in starts):
        text += " In PowerShell put & before a command that starts with a quote."
    return text


def _proving(facts: Facts, diagnosis: Diagnosis, *, here: bool) -> Iterator[TextLine]:
    where = "" if here else ", on the machine in question"
    if diagnosis.healthy and facts.triton:
        yield line(f"To prove it{where}: {_for_target('verify', facts, here=here)}")


def _for_target(command: str, facts: Facts, *, here: bool) -> str:
    """For the same Python: one that was named has to be named again."""
    target = facts.target
    named = here and target is not None and target.chosen_by in _NAMED
    python = word(target.executable) if target and named else None
    return f"tritonwin {command}{f' --python {python}' if python else ''}"


# --- problems


def label(problem: Problem) -> str:
    """Severity, and certainty unless it is certain: "problem, likely"."""
    sure = "" if problem.certainty == "certain" else f", {problem.certainty}"
    return f"{_SEVERITIES[problem.severity][0]}{sure}"


def section(problem: Problem, fix: str | None = None) -> Section:
    """A problem: why, the evidence; what to do, the question that decides, where to read more.

    Args:
        fix: the command that repairs what can be repaired so; what to do by hand is then folded.
    """
    evidence: list[Block] = [
        Prose(f"{item.text} (in {item.where})", label=EVIDENCE, most=_LINES)
        for item in problem.evidence[:_MOST_EVIDENCE]
    ]
    if (left := len(problem.evidence) - _MOST_EVIDENCE) > 0:
        evidence.append(line(f"- and {left} more, with --json", indent=4))
    body = [Prose(problem.cause, most=_LINES), *evidence[:1]]
    if evidence[1:]:
        body.append(Fold(f"{len(problem.evidence) - 1} more", tuple(evidence[1:])))
    commands = tuple(CodeBlock(c) for c in problem.remedy.commands)
    most = _LINES if commands else 2 * _LINES
    by_hand: list[Block] = [Prose(problem.remedy.summary, label="help: ", most=most), *commands]
    if problem.question:
        by_hand.append(Prose(problem.question.text, label="to be sure: "))
        by_hand.append(CodeBlock(problem.question.command))
    links = list(map(Link, problem.references))
    if fix and problem.remedy.automatic:
        shown: list[Block] = [Prose(_REPAIRED, label="help: "), CodeBlock(fix)]
        folded: list[Block] = [*by_hand, *links]
    else:
        shown, folded = [*by_hand, *links[:1]], [*links[1:]]
    if problem.explains:
        titles = "; ".join(map(title_of, problem.explains))
        folded.append(Prose(f"This also explains: {titles}."))
    shown.append(line(f"more: tritonwin explain --about {problem.id}", "faint", indent=4))
    return Section(
        name=problem.id,
        label=label(problem),
        title=problem.title,
        tone=_tone(problem),
        body=tuple(body),
        remedy=(*shown, *((Fold("By hand, and more", tuple(folded)),) if folded else ())),
    )


def _notes(problems: Iterable[Problem]) -> Fold | None:
    notes = [p for p in problems if p.severity == "info"]
    if not notes:
        return None
    short = (line("note: ", "notice", Span(p.title)) for p in notes[:_FEW])
    blocks = tuple(map(section, notes))
    return Fold(number(len(notes), "note"), blocks, short=(TextLine(), *short))


def _checks(checks: Sequence[CheckResult]) -> Fold | None:
    """Each check with its state; one that found something is named by what it found."""
    rows = []
    for check in checks:
        text, tone = _CHECKS[check.state]
        found = check.state in {"problem", "warning", "info"}
        detail = f"  ({check.detail})" if check.detail and not found else ""
        title = title_of(check.id) if found else check.title
        rows.append((Span(text, tone), Span(title), Span(detail, "faint")))
    crashed = (line(f"check failed: {c.title} ({c.detail})", "crashed") for c in checks
               if c.state == "crashed")  # fmt: skip
    return Fold(f"All {number(len(checks), 'check')}", (Table(tuple(rows)),), short=tuple(crashed))


def title_of(problem: str) -> str:
    return catalogue.load().entry(problem).title


# --- the machine


def _row(problem: str) -> Row:
    entry = catalogue.load().entry(problem)
    own = next(row for row, layers in _ROWS.items() if entry.layer in layers)
    return entry.row or own


def _layers(facts: Facts, diagnosis: Diagnosis) -> Iterator[tuple[Span, ...]]:
    """A row a layer, from the ground up, with the gravest state of its checks."""
    checks: dict[Row, list[CheckResult]] = {}
    for check in diagnosis.checks:
        checks.setdefault(_row(check.id), []).append(check)
    texts = machine.layers(facts)
    for name in _ROWS:
        found = checks.get(name, [])
        worst = next((s for s in _WORST if any(c.state == s for c in found)), None)
        worst = "ok" if worst == "info" else worst
        if not found or (name in _ONLY_IF_WRONG and worst in {None, "ok"}):
            continue
        if worst == "ok" and texts.get(name) == machine.ABSENT:
            worst = None  # "ok" would say that it need not be there
        tone: Tone
        state, tone = _CHECKS[worst] if worst else ("-", "absent")
        details = (c.detail for c in found if c.state == worst)
        yield Span(name), Span(state, tone), Span(texts.get(name) or next(details))
