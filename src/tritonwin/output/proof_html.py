"""The report of `verify` as one HTML page: no script, nothing loaded, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tritonwin.output.documents import VerifyReport
from tritonwin.output.proof import STATE_WORDS, verdict
from tritonwin.output.text import printable
from tritonwin.problems import catalogue
from tritonwin.verify.model import BROKEN, Proof, RungResult

_STEP = 20  # pixels from rung to rung
_LEFT, _RIGHT = 26, 106  # the rails
_TOP = 18

_STYLE = """
:root { color-scheme: light dark; --page: #fbfaf7; --text: #1d1f23; --faint: #6b7078;
  --line: #dcd9d0; --passed: #20794a; --broken: #b3261e; --absent: #8b9099; --rail: #b59a6a; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --text: #e6e4df; --faint: #9aa0a8;
  --line: #33363c; --passed: #5bc48c; --broken: #ff8a80; --absent: #777d86; --rail: #8a744c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } .verdict { margin: .25rem 0 1.25rem; }
.faint { color: var(--faint); } .passed { color: var(--passed); } .broken { color: var(--broken); }
.absent { color: var(--absent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: 8.5rem 1fr; gap: 1.5rem; align-items: start; }
svg { position: sticky; top: 1rem; } svg text { font: 10px system-ui, sans-serif; }
svg line { stroke-width: 5; stroke-linecap: round; } svg .rail { stroke: var(--rail); }
svg .passed { stroke: var(--passed); } svg .broken { stroke: var(--broken); }
svg .absent { stroke: var(--absent); stroke-dasharray: .1 9; stroke-width: 3; }
svg text { fill: var(--faint); stroke: none; }
ol { list-style: none; margin: 0; padding: 0; }
li { border-top: 1px solid var(--line); padding: .5rem 0; overflow-wrap: anywhere; }
li:target { outline: 2px solid var(--faint); outline-offset: 2px; }
li p { margin: .1rem 0; } code, pre { font: .85rem/1.45 ui-monospace, Consolas, monospace; }
pre { background: color-mix(in srgb, var(--line) 40%, transparent); padding: .6rem .8rem;
  overflow-x: auto; white-space: pre-wrap; } details > summary { cursor: pointer; }
td { padding: 0 1rem 0 0; vertical-align: top; } td:last-child { overflow-wrap: anywhere; }
@media (max-width: 40rem) { main { grid-template-columns: 1fr; } svg { position: static; } }
"""


def html_page(report: VerifyReport) -> str:
    """The page. Everything that comes from the machine is escaped."""
    said = verdict(Proof(results=report.rungs))
    kind = "passed" if report.proven else "broken"
    body = "\n".join(_entry(rung, n) for n, rung in enumerate(report.rungs, 1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{report.schema}">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>tritonwin verify: {_text(said)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>What is proven on this machine</h1>
<p class="verdict {kind}"><strong>{_text(said)}</strong></p>
<dl>{"".join(_facts(report))}</dl>
<main>
{_ladder(report.rungs)}
<ol>
{body}
</ol>
</main>
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(printable(text))


def _kind(rung: RungResult) -> str:
    if rung.state == "passed":
        return "passed"
    return "broken" if rung.state in BROKEN else "absent"


def _facts(report: VerifyReport) -> Iterator[str]:
    facts = {
        **report.machine,
        "kernels for": f"sm_{report.arch}",
        "made": f"{report.when or ''} by {report.tool.name} {report.tool.version}",
    }
    for name, value in facts.items():
        yield f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"


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
    title = _text(f"{rung.id}: {STATE_WORDS[rung.state]}")
    return (
        f'<a href="#{_text(rung.id)}"><title>{title}</title>{lines}'
        f'<text x="{_RIGHT + 8}" y="{y + 4}">{number}</text></a>'
    )


def _entry(rung: RungResult, number: int) -> str:
    seconds = f' <span class="faint">{rung.seconds:.1f} s</span>' if rung.seconds else ""
    return (
        f'<li id="{_text(rung.id)}"><p><span class="faint">{number}</span> '
        f'<strong>{_text(rung.title)}</strong> <code class="faint">{_text(rung.id)}</code></p>'
        f'<p><strong class="{_kind(rung)}">{STATE_WORDS[rung.state]}</strong>{seconds} '
        f"{_text(rung.detail)}</p>{_problems(rung)}{_said(rung)}"
        f'<p class="faint">Proves: {_text(rung.proves)}.</p>{_figures(rung)}</li>'
    )


def _problems(rung: RungResult) -> str:
    entries = catalogue.load().entries
    return "".join(
        f"<p>This looks like: <strong>{_text(entries[name].title)}</strong> "
        f"<code>{_text(name)}</code></p>"
        for name in rung.problems
        if name in entries
    )


def _said(rung: RungResult) -> str:
    if not rung.traceback:
        return ""
    lines = "\n".join(_text(line) for line in rung.traceback.splitlines())
    return f"<pre>{lines}</pre>"


def _figures(rung: RungResult) -> str:
    if not rung.figures:
        return ""
    rows = "".join(
        f"<tr><td>{_text(name)}</td><td>{_text(str(value))}</td></tr>"
        for name, value in rung.figures.items()
    )
    return f'<details class="faint"><summary>figures</summary><table>{rows}</table></details>'
