"""A plan for people: what, why, from where, how big, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tritonwin.output.terminal import console
from tritonwin.output.text import printable, size
from tritonwin.remedies.plan import Change, Plan


def print_plan(plan: Plan) -> None:
    """The changes, numbered in their order, then what stays to be done by hand."""
    out = console()
    if plan.changes:
        out.print(Text(f"Changes to {printable(plan.target)}:", "bold"), soft_wrap=True)
    for number, change in enumerate(plan.changes, 1):
        head = Text(f"{number:>3}. ").append(printable(change.what), "bold")
        out.print(head, soft_wrap=True)
        for line in _details(change):
            out.print(Text(f"       {printable(line)}", "dim"), soft_wrap=True)
    for each in plan.unsolved:
        out.print(Text(printable(f"not solved: {each.problem}: {each.reason}")), soft_wrap=True)
        if each.help:
            out.print(Text(printable(f"      help: {each.help}")), soft_wrap=True)


def _details(change: Change) -> Iterator[str]:
    yield f"why: {change.why}"
    for source in change.sources:
        much = f", {size(source.size)}" if source.size else ""
        yield f"from: {source.location}{much}"
    needs = [
        word
        for word, needed in (
            ("administrator rights", change.admin),
            ("the network", change.network),
        )
        if needed
    ]
    if needs:
        yield f"needs: {', '.join(needs)}"
    if change.note:
        yield f"note: {change.note}"
