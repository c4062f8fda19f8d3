"""Proof for people: one line a rung as soon as it is known, and what a broken one said.

On a terminal, lines below say what is being tried, since when, and why it takes long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from tritonwin.facts.records import Facts
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.problems import catalogue
from tritonwin.verify import table
from tritonwin.verify.model import BROKEN, Proof, Rung, RungResult, RungState
from tritonwin.verify.watch import Watch

_WORDS: dict[RungState, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("FAILED", "bold red"),
    "crashed": ("CRASHED", "bold red"),
    "timed-out": ("TIMEOUT", "bold red"),
    "not-applicable": ("n/a", "dim"),
    "not-installed": ("absent", "dim"),
    "skipped": ("skipped", "yellow"),
}
_WIDTH = max(len(word) for word, _ in _WORDS.values())
_SOON = 2  # seconds; most rungs are tried before anybody asks
# as a sentence says it
STATE_WORDS: dict[RungState, str] = {
    state: state.replace("-", " ").replace("timed out", "ran out of time") for state in _WORDS
}


def print_rungs(rungs: Iterable[Rung]) -> None:
    """The ladder's table of contents."""
    out = console()
    for rung in rungs:
        row = Text.assemble((rung.id, "bold"), f"  {rung.title}")
        row.append(f"  (at most {rung.limit:g} s)", "dim")
        out.print(row, soft_wrap=True)


def print_climb(facts: Facts, results: Iterable[RungResult], watch: Watch) -> Proof:
    """Print the results as they come; return them as a proof."""
    out = console()
    if facts.target:
        out.print(Text(printable(f"Python {facts.target.version}  {facts.target.executable}")))
    seen = []
    with _shown(watch, out):
        for result in results:
            print_rung(out, result)
            seen.append(result)
    proof = Proof(results=tuple(seen))
    out.print(Text(verdict(proof)), soft_wrap=True)
    return proof


class _Meanwhile:
    """Drawn anew several times a second, by a thread of rich."""

    def __init__(self, watch: Watch) -> None:
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
def _shown(watch: Watch, out: Console) -> Iterator[None]:
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
    word, style = _WORDS[result.state]
    row = Text.assemble((f"  {word.ljust(_WIDTH)}", style), f"  {result.title}")
    row.append(f"  ({printable(result.detail)})", "dim")
    out.print(row, soft_wrap=True)
    for line in (result.traceback or "").splitlines():
        out.print(Text(f"      {printable(line)}", "dim"), soft_wrap=True)
    for name in result.problems:
        title = catalogue.load().entry(name).title
        out.print(Text.assemble("      this looks like: ", (title, "bold"), f"  [{name}]"))
    if result.state in BROKEN and result.problems:
        out.print(Text(f"      help: tritonwin doctor --only {result.problems[0]}"))


def verdict(proof: Proof, *, complete: bool = True) -> str:
    """ "31 passed, 1 failed, 5 not applicable. Not proven." """
    counts = Counter(result.state for result in proof.results)
    listed = ", ".join(f"{counts[s]} {word}" for s, word in STATE_WORDS.items() if counts[s])
    holds = (
        f"Proven, as far as it could be tried{_left_out(proof)}." if proof.holds else "Not proven."
    )
    return f"{listed or 'nothing was tried'}. {holds if complete else 'Not finished.'}"


def _left_out(proof: Proof) -> str:
    """With --through or --only; a report must not claim more than was asked for."""
    whole = len(table.load())
    left = whole - len(proof.results)
    return f"; {left} of {whole} rungs were left out" if left > 0 else ""
