"""Proof for people: one line a rung as soon as it is known, and what a failed one said."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from tritonwin.facts.model import Facts
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.verify.model import Proof, RungResult, RungState

_WORDS: dict[RungState, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("FAILED", "bold red"),
    "skipped": ("n/a", "dim"),
}
_WIDTH = max(len(word) for word, _ in _WORDS.values())


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
    verdict = "Proven, as far as it could be tried." if proof.holds else "Not proven."
    out.print(Text(verdict), soft_wrap=True)
    return proof


def print_rung(out: Console, result: RungResult) -> None:
    word, style = _WORDS[result.state]
    row = Text.assemble((f"  {word.ljust(_WIDTH)}", style), f"  {result.title}")
    row.append(f"  ({printable(result.detail)})", "dim")
    out.print(row, soft_wrap=True)
    for line in (result.traceback or "").splitlines():
        out.print(Text(f"      {printable(line)}", "dim"), soft_wrap=True)
