"""The report of `verify` as one HTML page: no script, nothing loaded, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.output.documents import VerifyReport
from tritonwin.output.page import listed, page, shown
from tritonwin.output.proof import STATE_WORDS, verdict
from tritonwin.problems import catalogue
from tritonwin.verify.model import BROKEN, Proof, RungResult

_STEP = 20  # pixels from rung to rung
_LEFT, _RIGHT = 26, 106  # the rails
_TOP = 18

_STYLE = """
main { display: grid; grid-template-columns: 8.5rem 1fr; gap: 1.5rem; align-items: start; }
svg { position: sticky; top: 1rem; } svg text { font: 10px system-ui, sans-serif; }
svg line { stroke-width: 5; stroke-linecap: round; } svg .rail { stroke: var(--rail); }
svg .passed { stroke: var(--passed); } svg .broken { stroke: var(--broken); }
svg .absent { stroke: var(--absent); stroke-dasharray: .1 9; stroke-width: 3; }
svg text { fill: var(--faint); stroke: none; }
ol { list-style: none; margin: 0; padding: 0; }
li { border-top: 1px solid var(--line); padding: .5rem 0; }
li:target { outline: 2px solid var(--faint); outline-offset: 2px; }
@media (max-width: 40rem) { main { grid-template-columns: 2.6rem 1fr; gap: .9rem; }
  svg { width: 2.6rem; height: auto; } svg text { display: none; } }
"""


def html_page(report: VerifyReport) -> str:
    """The page. Everything that comes from the machine is escaped."""
    said = verdict(Proof(results=report.rungs), complete=report.complete)
    kind = "passed" if report.proven else "broken"
    entries = "\n".join(_entry(rung, n) for n, rung in enumerate(report.rungs, 1))
    body = f"""<h1>What is proven on this machine</h1>
<p class="verdict {kind}"><strong>{shown(said)}</strong></p>
{listed(_facts(report))}
<main>
{_ladder(report.rungs)}
<ol>
{entries}
</ol>
</main>"""
    return page(schema=report.schema, title=f"tritonwin verify: {said}", body=body, style=_STYLE)


def _kind(rung: RungResult) -> str:
    if rung.state == "passed":
        return "passed"
    return "broken" if rung.state in BROKEN else "absent"


def _facts(report: VerifyReport) -> Iterator[tuple[str, str]]:
    yield from {
        **report.machine,
        "kernels for": f"sm_{report.arch}",
        "made": f"{report.when or ''} by {report.tool.name} {report.tool.version}",
    }.items()


def _ladder(rungs: tuple[RungResult, ...]) -> str:
    """The ladder, the ground at the bottom; a broken rung has a gap, an absent one is dotted."""
    height = _TOP * 2 + _STEP * (len(rungs) + 1)
    rails = "".join(
        f'<line class="rail" x1="{x}" y1="{_TOP}" x2="{x}" y2="{height - _TOP}"/>'
        for x in (_LEFT, _RIGHT)
    )
    drawn = "".join(_drawn(rung, n, height - _TOP - _STEP * n) for n, rung in enumerate(rungs, 1))
    return (
        f'<svg width="132" height="{height}" viewBox="0 0 132 {height}" role="img" '
        f'aria-label="The ladder, from the ground up">{rails}{drawn}</svg>'
    )


def _drawn(rung: RungResult, number: int, y: int) -> str:
    kind = _kind(rung)
    ends = [(_LEFT + 5, _RIGHT - 5)]
    if kind == "broken":
        ends = [(_LEFT + 5, _LEFT + 30), (_RIGHT - 30, _RIGHT - 5)]
    lines = "".join(f'<line class="{kind}" x1="{a}" y1="{y}" x2="{b}" y2="{y}"/>' for a, b in ends)
    title = shown(f"{rung.id}: {STATE_WORDS[rung.state]}")
    return (
        f'<a href="#{shown(rung.id)}"><title>{title}</title>{lines}'
        f'<text x="{_RIGHT + 8}" y="{y + 4}">{number}</text></a>'
    )


def _entry(rung: RungResult, number: int) -> str:
    seconds = f' <span class="faint">{rung.seconds:.1f} s</span>' if rung.seconds else ""
    return (
        f'<li id="{shown(rung.id)}"><p><span class="faint">{number}</span> '
        f'<strong>{shown(rung.title)}</strong> <code class="faint">{shown(rung.id)}</code></p>'
        f'<p><strong class="{_kind(rung)}">{STATE_WORDS[rung.state]}</strong>{seconds} '
        f"{shown(rung.detail)}</p>{_problems(rung)}{_said(rung)}"
        f'<p class="faint">Proves: {shown(rung.proves)}.</p>{_figures(rung)}</li>'
    )


def _problems(rung: RungResult) -> str:
    entries = catalogue.load().entries
    return "".join(
        f"<p>This looks like: <strong>{shown(entries[name].title)}</strong> "
        f"<code>{shown(name)}</code></p>"
        for name in rung.problems
        if name in entries
    )


def _said(rung: RungResult) -> str:
    if not rung.traceback:
        return ""
    lines = "\n".join(shown(line) for line in rung.traceback.splitlines())
    return f"<pre>{lines}</pre>"


def _figures(rung: RungResult) -> str:
    if not rung.figures:
        return ""
    rows = "".join(
        f"<tr><td>{shown(name)}</td><td>{shown(str(value))}</td></tr>"
        for name, value in rung.figures.items()
    )
    return f'<details class="faint"><summary>figures</summary><table>{rows}</table></details>'
