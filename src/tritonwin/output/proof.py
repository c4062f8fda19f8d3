"""Proof for people: one line a rung as soon as it is known, and what a broken one said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from tritonwin.facts.model import Facts
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.problems import catalogue
from tritonwin.verify.model import BROKEN, Proof, Rung, RungResult, RungState

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
# as a sentence says it
STATE_WORDS: dict[RungState, str] = {
    state: state.replace("-", " ").replace("timed out", "ran out of time") for state in _WORDS
}


def print_rungs(rungs: Iterable[Rung]) -> None:
    """The ladder's table of contents."""
    out = console()
    for rung in rungs:
        out.print(Text.assemble((rung.id, "bold"), f"  {rung.title}"), soft_wrap=True)


def print_climb(facts: Facts, results: Iterable[RungResult]) -> Proof:
    """Print the results as they come; return them as a proof."""
    out = console()
    if facts.target:
        out.print(Text(printable(f"Python {facts.target.version}  {facts.target.executable}")))
    seen = []
    for result in results:
        print_rung(out, result)
        seen.append(result)
    proof = Proof(results=tuple(seen))
    out.print(Text(verdict(proof)), soft_wrap=True)
    return proof


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
    holds = "Proven, as far as it could be tried." if proof.holds else "Not proven."
    return f"{listed or 'nothing was tried'}. {holds if complete else 'Not finished.'}"
