"""The view of diagnoses, explanations and proofs that terminal, HTML and Markdown render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.facts.records import ChosenBy, Facts, Gpu
from tritonwin.problems import catalogue
from tritonwin.problems.records import (
    CheckResult,
    CheckState,
    Diagnosis,
    Explanation,
    Problem,
    Severity,
)
from tritonwin.system.shells import word
from tritonwin.verify.records import BROKEN, Proof, RungResult, RungState

# How a state looks: each format has a colour for it.
Tone = Literal["good", "notice", "warning", "bad", "absent", "crashed"]

_SEVERITY_TONES: dict[Severity, Tone] = {"error": "bad", "warning": "warning", "info": "notice"}
_CHECKS: dict[CheckState, tuple[str, Tone]] = {
    "ok": ("ok", "good"),
    "info": ("info", "notice"),
    "warning": ("warning", "warning"),
    "problem": ("problem", "bad"),
    "not-applicable": ("n/a", "absent"),
    "crashed": ("crashed", "crashed"),
}
_RUNGS: dict[RungState, tuple[str, Tone]] = {
    "passed": ("ok", "good"),
    "failed": ("FAILED", "bad"),
    "crashed": ("CRASHED", "bad"),
    "timed-out": ("TIMEOUT", "bad"),
    "not-applicable": ("n/a", "absent"),
    "not-installed": ("absent", "absent"),
    "skipped": ("skipped", "warning"),
}
# The user named the Python, so that commands name it again.
_NAMED: frozenset[ChosenBy | None] = frozenset({"python", "python-folder", "python-on-path", "app"})
_ASK = "To have the machine itself examined, run there: tritonwin doctor"
_SEND = "Or send its facts along with the log: tritonwin snapshot -o report.json"


@dataclass(frozen=True)
class ProblemView:
    """A problem with the words for it.

    Attributes:
        label: severity, and certainty unless it is certain: "error, likely".
        explains: the titles of the problems that it makes moot.
    """

    problem: Problem
    label: str
    tone: Tone
    explains: tuple[str, ...]


@dataclass(frozen=True)
class CheckView:
    """A check with one word for its state."""

    check: CheckResult
    word: str
    tone: Tone


@dataclass(frozen=True, kw_only=True)
class DiagnosisView:
    """A diagnosis in words.

    Attributes:
        here: it is of this machine, not of a snapshot.
        head: the machine in two or three lines.
        machine: the same in names and values, as a report of a bug has to have them.
        unread: facts that could not be read, with the reason.
        verdict: the last line.
        fix: the command that shows a repair; None where there is nothing to repair.
    """

    here: bool
    head: tuple[str, ...]
    machine: tuple[tuple[str, str], ...]
    checks: tuple[CheckView, ...]
    problems: tuple[ProblemView, ...]
    unread: tuple[str, ...]
    healthy: bool
    verdict: str
    fix: str | None


@dataclass(frozen=True, kw_only=True)
class ExplanationView:
    """An explanation in words.

    Attributes:
        here: the log may be of this machine; with a snapshot it is of another.
        known: the log's statements about the machine.
        verdict: the last lines.
    """

    here: bool
    lines: int
    known: tuple[str, ...]
    problems: tuple[ProblemView, ...]
    verdict: tuple[str, ...]


@dataclass(frozen=True)
class RungView:
    """A rung of a proof with the words for it.

    Attributes:
        word: the state in one word, for a column; `text`: as a sentence has it.
        problems: ids and titles of problems that the failure looks like.
        help: the command that looks for the cause, where it is broken.
    """

    rung: RungResult
    word: str
    text: str
    tone: Tone
    problems: tuple[tuple[str, str], ...]
    help: str | None

    @property
    def lines(self) -> tuple[str, ...]:
        """The end of the program's output."""
        return tuple((self.rung.traceback or "").splitlines())


def of_problem(problem: Problem) -> ProblemView:
    sure = "" if problem.certainty == "certain" else f", {problem.certainty}"
    tone = _SEVERITY_TONES[problem.severity]
    explains = tuple(map(_title, problem.explains))
    return ProblemView(problem, f"{problem.severity}{sure}", tone, explains)


def of_diagnosis(facts: Facts, diagnosis: Diagnosis, *, here: bool = True) -> DiagnosisView:
    solvable = any(p.remedy.automatic and p.severity != "info" for p in diagnosis.problems)
    return DiagnosisView(
        here=here,
        head=tuple(_head(facts)),
        machine=tuple(described(facts)),
        checks=tuple(CheckView(check, *_CHECKS[check.state]) for check in diagnosis.checks),
        problems=tuple(map(of_problem, diagnosis.problems)),
        unread=tuple(f"{error.collector} ({error.error})" for error in facts.errors),
        healthy=diagnosis.healthy,
        verdict=_verdict(diagnosis),
        fix=_fix_command(facts, here=here) if solvable else None,
    )


def of_explanation(explanation: Explanation, *, here: bool = True) -> ExplanationView:
    verdict = [counted(explanation.problems)]
    if explanation.healthy:
        verdict = ["This log shows no problem that tritonwin knows."]
        if explanation.suspicious:
            verdict.append("The lines to look at first:")
            verdict += [f"    {item.where}: {item.text}" for item in explanation.suspicious]
            verdict += [_ASK, _SEND]
    return ExplanationView(
        here=here,
        lines=explanation.lines,
        known=tuple(item.text for item in explanation.known),
        problems=tuple(map(of_problem, explanation.problems)),
        verdict=tuple(verdict),
    )


def of_rung(result: RungResult) -> RungView:
    short, tone = _RUNGS[result.state]
    problems = tuple((name, _title(name)) for name in result.problems)
    broken = result.state in BROKEN and problems
    help_text = f"tritonwin doctor --only {problems[0][0]}" if broken else None
    return RungView(result, short, STATE_WORDS[result.state], tone, problems, help_text)


# as a sentence says it
STATE_WORDS: dict[RungState, str] = {
    state: state.replace("-", " ").replace("timed out", "ran out of time") for state in _RUNGS
}


def proof_verdict(proof: Proof, *, rungs: int, complete: bool = True) -> str:
    """ "31 passed, 1 failed, 5 not applicable. Not proven."

    Args:
        rungs: how many the whole ladder has; a report must not claim more than was asked for.
    """
    counts = Counter(result.state for result in proof.results)
    listed = ", ".join(f"{counts[s]} {word}" for s, word in STATE_WORDS.items() if counts[s])
    left = rungs - len(proof.results)
    left_out = f"; {left} of {rungs} rungs were left out" if left > 0 else ""
    holds = f"Proven, as far as it could be tried{left_out}." if proof.holds else "Not proven."
    return f"{listed or 'nothing was tried'}. {holds if complete else 'Not finished.'}"


def counted(problems: Sequence[Problem]) -> str:
    """The number of problems, and a hint for commands of Windows in PowerShell."""
    counts = Counter(p.severity for p in problems)
    text = f"{counts['error']} error(s), {counts['warning']} warning(s)."
    commands = [c for p in problems for c in p.remedy.commands]
    if any(c.startswith('"') and not c.startswith('"/') for c in commands):
        text += " In PowerShell put & before a command that starts with a quote."
    return text


def _title(problem: str) -> str:
    return catalogue.load().entry(problem).title


def _verdict(diagnosis: Diagnosis) -> str:
    crashed = len(diagnosis.crashed)
    failed = f"{crashed} check(s) failed: their problems may be there all the same."
    if diagnosis.healthy:
        return "Nothing is wrong that these checks can see."
    if all(p.severity == "info" for p in diagnosis.problems):
        return f"Nothing is wrong that the other checks can see. {failed}"
    return counted(diagnosis.problems) + (f" {failed}" if crashed else "")


def _fix_command(facts: Facts, *, here: bool) -> str:
    """For the same Python: one that was named has to be named again."""
    target = facts.target
    named = here and target is not None and target.chosen_by in _NAMED
    python = word(target.executable) if target and named else None
    return f"tritonwin fix --dry-run{f' --python {python}' if python else ''}"


def _head(facts: Facts) -> Iterator[str]:
    target = facts.target
    if target:
        read = "  (its files were read; it was not started)" if target.started is False else ""
        yield f"Python {target.version} ({target.kind})  {target.executable}{read}"
    parts = [f"torch {facts.torch.version}" if facts.torch else "no torch"]
    parts.append(triton_name(facts) or "no Triton")
    parts += map(gpu_name, facts.gpus)
    parts += [f"driver {d.version}" for d in facts.drivers if d.version]
    yield "  ".join(parts)


def described(facts: Facts) -> Iterator[tuple[str, str]]:
    """Names and values, in the order and the words of triton-windows' form for bugs."""
    yield "GPU", _gpu(facts)
    target = facts.target
    yield "Python", f"{target.version} ({target.kind}) {target.executable}" if target else "none"
    yield "PyTorch", facts.torch.version if facts.torch else "not installed"
    yield "Triton", _triton(facts)
    yield "CUDA", _cuda(facts)
    yield "Compiler", _compiler(facts)
    yield "System", _system(facts)


def gpu_name(gpu: Gpu) -> str:
    """ "NVIDIA GeForce RTX 4090 (8.9)"."""
    return gpu.name + (f" ({gpu.compute_capability})" if gpu.compute_capability else "")


def triton_name(facts: Facts) -> str | None:
    """ "triton-windows 3.5.1.post24", or "Triton 3.5.1" where no distribution owns it."""
    if facts.triton is None:
        return None
    owner = facts.distribution(facts.triton.distribution or "")
    return f"{owner.name} {owner.version}" if owner else f"Triton {facts.triton.version}"


def _gpu(facts: Facts) -> str:
    driver = ", ".join(f"driver {d.version or d.error}" for d in facts.drivers)
    gpus = [gpu_name(gpu) for gpu in facts.gpus]
    return "; ".join(gpus or ["none was found"]) + (f"; {driver}" if driver else "")


def _triton(facts: Facts) -> str:
    if facts.triton is None:
        return "not installed"
    return f"{triton_name(facts)} in {facts.triton.location}"


def _cuda(facts: Facts) -> str:
    toolkits = [t for t in facts.cuda_toolkits if t.exists]
    parts = [f"{t.version or 'unknown version'} ({t.layout})" for t in toolkits]
    if facts.torch and facts.torch.cuda:
        parts.insert(0, f"torch built for {facts.torch.cuda}")
    return ", ".join(dict.fromkeys(parts)) or "no toolkit"


def _compiler(facts: Facts) -> str:
    parts = [f"MSVC {m.version}" for m in facts.msvc]
    parts += [c.family for c in facts.compilers if c.flaw is None]
    return ", ".join(dict.fromkeys(parts)) or "none"


def _system(facts: Facts) -> str:
    wine = f", Wine {facts.system.wine}" if facts.system.wine else ""
    return f"{facts.system.os} {facts.system.version} {facts.system.machine}{wine}"
