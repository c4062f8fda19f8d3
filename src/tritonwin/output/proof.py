"""Proof for people: one line a rung as soon as it is known; and the reports of `verify`.

On a terminal, lines below tell which rungs are tried, since when, and why it takes long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output import html, markdown
from tritonwin.output.documents import ToolInfo, VerifyReport, target_of
from tritonwin.output.terminal import STYLES, console, say
from tritonwin.output.text import printable
from tritonwin.output.view import of_rung, proof_verdict
from tritonwin.system.codec import to_json
from tritonwin.system.files import read_text, write_whole
from tritonwin.verify.records import Proof, Rung, RungResult

if TYPE_CHECKING:
    from tritonwin.verify.ladder import ClimbWatch

_WIDTH = len("CRASHED")
_SOON = 2  # seconds; most rungs are tried before anybody asks
MARK = "tritonwin.verify/"  # stands in every kind of report


def print_rungs(rungs: Iterable[Rung]) -> None:
    """The ladder's table of contents."""
    out = console()
    for rung in rungs:
        row = Text.assemble((rung.id, "bold"), f"  {rung.title}")
        row.append(f"  (at most {rung.limit:g} s)", "dim")
        out.print(row, soft_wrap=True)


def print_climb(
    facts: Facts, results: Iterable[RungResult], watch: ClimbWatch, *, rungs: int
) -> Proof:
    """Print the results as they come; return them as a proof.

    Args:
        rungs: how many the whole ladder has.
    """
    out = console()
    if facts.target:
        out.print(Text(printable(f"Python {facts.target.version}  {facts.target.executable}")))
    seen = []
    with _shown(watch, out):
        for result in results:
            print_rung(out, result)
            seen.append(result)
    proof = Proof(results=tuple(seen))
    say(out, proof_verdict(proof, rungs=rungs))
    return proof


class _Meanwhile:
    """Drawn again several times a second, by a thread of rich."""

    def __init__(self, watch: ClimbWatch) -> None:
        self._watch = watch

    def __rich__(self) -> Text:
        rows = (
            f"  trying   {trial.title}  ({trial.seconds:.0f} s{_step(trial.step)})"
            for trial in self._watch.now()
            if trial.seconds >= _SOON
        )
        return Text("\n".join(rows), "dim", overflow="crop", no_wrap=True)


def _step(step: str | None) -> str:
    return f": {printable(step)}" if step else ""


@contextmanager
def _shown(watch: ClimbWatch, out: Console) -> Iterator[None]:
    if not out.is_terminal:
        yield
        return
    from rich.live import Live

    with Live(
        _Meanwhile(watch),
        console=out,
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


def print_rung(out: Console, result: RungResult) -> None:
    rung = of_rung(result)
    row = Text.assemble((f"  {rung.word.ljust(_WIDTH)}", STYLES[rung.tone]), f"  {rung.rung.title}")
    row.append(f"  ({printable(rung.rung.detail)})", "dim")
    out.print(row, soft_wrap=True)
    for line in rung.lines:
        say(out, f"      {line}", "dim")
    for name, title in rung.problems:
        out.print(Text.assemble("      this looks like: ", (title, "bold"), f"  [{name}]"))
    if rung.help:
        out.print(Text(f"      help: {rung.help}"))


def _json(report: VerifyReport) -> str:
    return json.dumps(to_json(report), indent=2) + "\n"


WRITERS: dict[str, Callable[[VerifyReport], str]] = {
    ".md": markdown.proof,
    ".html": html.proof_page,
    ".json": _json,
}


def verify_report(
    facts: Facts, proof: Proof, arch: int, *, ladder: int = 0, complete: bool = True
) -> VerifyReport:
    return VerifyReport(
        tool=ToolInfo(),
        target=target_of(facts.target),
        arch=arch,
        proven=proof.holds and complete,
        complete=complete,
        rungs=proof.results,
        ladder=ladder,
        machine=dict(_machine(facts)),
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _machine(facts: Facts) -> dict[str, str]:
    target, torch, triton = facts.target, facts.torch, facts.triton
    owner = facts.distribution((triton and triton.distribution) or "")
    gpus = (f"{g.name} ({g.compute_capability or g.architecture or '?'})" for g in facts.gpus)
    drivers = (f"{d.version} (CUDA {d.cuda})" for d in facts.drivers if d.version)
    wine = f", played by Wine {facts.system.wine}" if facts.system.wine else ""
    found = {
        "system": f"{facts.system.os} {facts.system.version}, {facts.system.machine}{wine}",
        "GPU": ", ".join(gpus),
        "driver": ", ".join(drivers),
        "Python": f"{target.version} ({target.kind})" if target else "",
        "torch": torch.version if torch else "",
        "Triton": f"{owner.name} {owner.version}" if owner else (triton and triton.version) or "",
    }
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, kw_only=True)
class Scribe:
    """Writes the reports of a climb while it goes on, so that one that is ended leaves something.

    Attributes:
        arch: what kernels are compiled for: 89.
        ladder: how many rungs there are.
        redactor: takes out of the reports what is private.
    """

    facts: Facts
    arch: int
    ladder: int
    files: tuple[Path, ...]
    redactor: Redactor

    def follow(self, results: Iterable[RungResult]) -> Iterator[RungResult]:
        """Hand on each result, after what is reached so far was written."""
        seen: list[RungResult] = []
        for result in results:
            seen.append(result)
            self._write(Proof(results=tuple(seen)), complete=False)
            yield result

    def finish(self, proof: Proof) -> VerifyReport:
        """The report as it was written, without what is private."""
        return self._write(proof, complete=True)

    def _write(self, proof: Proof, *, complete: bool) -> VerifyReport:
        report = verify_report(self.facts, proof, self.arch, ladder=self.ladder, complete=complete)
        public = self.redactor.record(report)
        for file in self.files:
            write_report(public, file)
        return public


def refuse_place(path: Path) -> None:
    """Say before the work is done that the report could not be written there.

    Raises:
        UserError: an unknown kind of file, a folder, or a file that is no report of verify.
    """
    if path.suffix.lower() not in WRITERS:
        raise UserError(f"{path} names no kind of report", f"End the name in {', '.join(WRITERS)}.")
    try:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UserError(
                f"{path} cannot be written: there is no such folder, or it is one itself",
                "Give the name of a file in a folder that is there.",
            )
        if path.exists() and path.stat().st_size and MARK not in (read_text(path) or ""):
            raise UserError(
                f"{path} exists and is no report of verify, so it is left as it is",
                "Choose another name, or delete the file first.",
            )
    except OSError as error:
        raise _refused(path, error) from None


def write_report(public: VerifyReport, path: Path) -> None:
    """Write it in the form that the name's ending asks for: whole or not at all.

    Args:
        public: redacted already.

    Raises:
        UserError: the file cannot be written.
    """
    text = WRITERS[path.suffix.lower()](public)
    try:
        write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: OSError) -> UserError:
    msg = f"cannot write {path}: {error.strerror or error}"
    return UserError(msg, "Choose another folder with --report FILE.")
