"""The view of diagnoses and explanations: records in, blocks out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tritonwin.facts.records import ChosenBy, Facts
from tritonwin.output import invocation, machine
from tritonwin.output.blocks import (
    EVIDENCE,
    SEE,
    Block,
    CodeBlock,
    Fold,
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
    Evidence,
    Explanation,
    Problem,
)
from tritonwin.system.shells import word

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
# rows that say what is there, by its name in the description of the machine; others stand only
# where something is wrong
_DESCRIBED: Mapping[Row, str] = {
    "driver": "GPU", "Python": "Python", "torch": "PyTorch", "Triton": "Triton",
    "compiler": "Compiler",
}  # fmt: skip
# What a problem keeps from working, by the row that it is in.
_SUBJECTS: Mapping[Row, str] = {"packages": "A package", "builds": "A build from source"}
_SURE: Mapping[Certainty, str] = {
    "certain": "will not", "likely": "will probably not", "possible": "may not",
}  # fmt: skip
# The user named the Python, so that commands name it again.
_NAMED: frozenset[ChosenBy | None] = frozenset({"python", "python-folder", "python-on-path", "app"})
_ASK = "To have the machine itself examined, run there: tritonwin doctor"
_SEND = "Or send its facts along with the log: tritonwin snapshot"
_MOST_EVIDENCE = 20  # of a problem; a hostile snapshot may bring a hundred thousand
_FEW = 2  # notes on a screen; the others are counted
_LINES = 2  # of a cause, a piece of evidence or a remedy on a screen


@dataclass(frozen=True, kw_only=True)
class View:
    """A report: the answer to the person's question, then what it rests on.

    Attributes:
        healthy: nothing has to be done.
        body: everything below the headline.
        count: of problems and notes.
        machine: names and values, as a report of a bug has to have them.
        here: it is of this machine, not of a snapshot.
        schema: of the document with the same content; files with the report name it.
        when: ISO 8601; None: now.
    """

    headline: str
    healthy: bool
    tone: Tone
    body: tuple[Block, ...]
    count: str = ""
    machine: tuple[tuple[str, str], ...] = ()
    here: bool = True
    schema: str = ""
    when: str | None = None

    def screen(self, *, everything: bool) -> Iterator[Block]:
        """The answer, and what it rests on; a title that the answer holds is not said again."""
        yield Prose(self.headline, tone=self.tone, indent=0)
        for each in self.body:
            if isinstance(each, Section) and each.title in self.headline:
                yield replace(each, title="")
            else:
                yield each
        if self.count:
            yield Prose(f"{self.count}{'' if everything else ' --all shows all.'}", indent=0)

    def status(self) -> Iterator[Block]:
        """The answer and the next step, for somebody who typed the name alone."""
        does, step = ("To prove it", "verify") if self.healthy else ("What helps", "doctor")
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
    grave, crashed = _grave(diagnosis.problems), diagnosis.crashed
    after = [line(f"not read: {error.collector} ({error.error})") for error in facts.errors]
    after += [line(f"check failed: {c.title} ({c.detail})", "crashed") for c in crashed]
    last = []
    if grave and not here:
        last.append("Commands: on the machine in question.")
    if crashed:
        text = f"{number(len(crashed), 'check')} failed: their problems may be there all the same."
        last.append(text)
    if whole and diagnosis.healthy and facts.triton:
        where = "" if here else ", on the machine in question"
        after.append(line(f"To prove it{where}: {_for_target('verify', facts, here=here)}"))
    fix = _for_target("fix", facts, here=here)
    return View(
        schema="tritonwin.doctor/1",
        headline=_headline(grave, crashed=bool(crashed), whole=whole),
        healthy=diagnosis.healthy,
        tone=_state(grave[0])[1] if grave else "crashed" if crashed else "good",
        body=(
            Table(tuple(_layers(facts, diagnosis))),
            *found(diagnosis.problems, fix),
            *after,
            _checks(diagnosis.checks),
        ),
        count=" ".join((*counted(diagnosis.problems, here=here), *last)),
        machine=tuple(machine.described(facts)),
        here=here,
    )


def of_explanation(explanation: Explanation, name: str, *, here: bool = True) -> View:
    """The view of an explanation.

    Args:
        name: of the log.
        here: the log may be of this machine; with a snapshot it is of another.
    """
    problems, grave = explanation.problems, _grave(explanation.problems)
    body: list[Block] = [line(f"{name}: {number(explanation.lines, 'line')}", "faint")]
    if explanation.known and (known := machine.known(explanation.facts)):
        texts = ", ".join(f"{fact} {text}" for fact, text in known.items())
        places = "the log" if here else "the log and the snapshot"
        body.append(line(f"Found in {places}: {texts}", "faint"))
    body += found(problems)
    commands = any(p.remedy.commands or p.question for p in problems)
    where = ["Commands: on the machine that the log is of."] * commands
    if not grave and explanation.suspicious:
        body += [*suspects(explanation.suspicious), line(_ASK), line(_SEND)]
    return View(
        headline=_cause(grave),
        healthy=explanation.healthy,
        tone=_state(grave[0])[1] if grave else "good",
        body=tuple(body),
        count=" ".join((*counted(problems, here=here), *where)),
        here=here,
    )


def _grave(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(p for p in problems if p.severity != "info")


def _state(problem: Problem) -> tuple[str, Tone]:
    return _CHECKS["problem" if problem.severity == "error" else problem.severity]


def _headline(grave: Sequence[Problem], *, crashed: bool, whole: bool) -> str:
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


def found(problems: Sequence[Problem], fix: str | None = None) -> Iterator[Block]:
    """Each problem with what to do, then the notes in a line each.

    Args:
        fix: the command that repairs what can be repaired so; what to do by hand is then folded.
    """
    yield from (section(p, fix) for p in _grave(problems))
    notes = [p for p in problems if p.severity == "info"]
    short = (line("note: ", "notice", Span(p.title)) for p in notes[:_FEW])
    if problems:
        title = number(len(notes), "note")
        yield Fold(title, tuple(map(section, notes)), short=(TextLine(), *short))


def suspects(lines: Sequence[Evidence]) -> Iterator[TextLine]:
    yield line("The lines to look at first:")
    yield from (line(f"{item.where}: {item.text}", indent=4) for item in lines)


def counted(problems: Sequence[Problem], *, here: bool = True) -> Iterator[str]:
    """ "1 problem, 2 notes.", and a hint for commands of Windows in PowerShell."""
    counts = Counter(_state(p)[0] for p in problems)
    words = (number(counts[name], name) for name in ("problem", "warning", "note") if counts[name])
    if problems:
        yield f"{', '.join(words)}."
    commands = [command for p in _grave(problems) for command in p.remedy.commands]
    starts = (invocation.typed(text)[:2] if here else text[:2] for text in commands)
    if any(start[0] == '"' and start != '"/' for start in starts):
        yield "In PowerShell put & before a command that starts with a quote."


def _for_target(command: str, facts: Facts, *, here: bool) -> str:
    """For the same Python: one that was named has to be named again."""
    target = facts.target
    named = here and target is not None and target.chosen_by in _NAMED
    python = word(target.executable) if target and named else None
    return f"tritonwin {command}{f' --python {python}' if python else ''}"


# --- problems


def section(problem: Problem, fix: str | None = None) -> Section:
    """A problem: why, the evidence; what to do, the question that decides, where to read more.

    Args:
        fix: the command that repairs what can be repaired so; what to do by hand is then folded.
    """
    state, tone = _state(problem)
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
    links = [Prose(address, label=SEE, tone="faint") for address in problem.references]
    if fix and problem.remedy.automatic:
        shown: list[Block] = [
            Prose("Repair it, which shows a plan first and asks:", label="help: "),
            CodeBlock(fix),
        ]
        folded: list[Block] = [*by_hand, *links]
    else:
        shown, folded = [*by_hand, *links[:1]], [*links[1:]]
    if problem.explains:
        titles = "; ".join(map(title_of, problem.explains))
        folded.append(Prose(f"This also explains: {titles}."))
    shown.append(line(f"more: tritonwin explain --about {problem.id}", "faint", indent=4))
    return Section(
        name=problem.id,
        label=state if problem.certainty == "certain" else f"{state}, {problem.certainty}",
        title=problem.title,
        tone=tone,
        body=tuple(body),
        remedy=(*shown, *((Fold("By hand, and more", tuple(folded)),) if folded else ())),
    )


def _checks(checks: Sequence[CheckResult]) -> Fold:
    """Each check with its state; one that found something is named by what it found."""
    rows = []
    for check in checks:
        text, tone = _CHECKS[check.state]
        found = check.state in {"problem", "warning", "info"}
        detail = f"  ({check.detail})" if check.detail and not found else ""
        title = title_of(check.id) if found else check.title
        rows.append((Span(text, tone), Span(title), Span(detail, "faint")))
    return Fold(f"All {number(len(checks), 'check')}", (Table(tuple(rows)),))


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
    known = dict(machine.described(facts))
    texts = {row: known[name] for row, name in _DESCRIBED.items()}
    texts["caches"] = machine.caches(facts)
    for name in _ROWS:
        found = checks.get(name, [])
        worst = next((s for s in _WORST if any(c.state == s for c in found)), None)
        worst = "ok" if worst == "info" else worst
        if not found or (name not in texts and worst in {None, "ok"}):
            continue
        if worst == "ok" and texts.get(name) == machine.ABSENT:
            worst = None  # "ok" would say that it need not be there
        tone: Tone
        state, tone = _CHECKS[worst] if worst else ("-", "absent")
        details = (c.detail for c in found if c.state == worst)
        yield Span(name), Span(state, tone), Span(texts.get(name) or next(details))
