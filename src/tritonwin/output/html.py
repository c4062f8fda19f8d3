"""Reports as HTML pages: one file, nothing loaded, light and dark, narrow and wide.

No script is needed. The one that is there adds buttons to copy commands with, where scripts run;
the policy of the page allows exactly that script, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from tritonwin import __version__
from tritonwin.output.documents import VerifyReport
from tritonwin.output.text import printable
from tritonwin.output.view import (
    CheckView,
    DiagnosisView,
    ProblemView,
    RungView,
    Tone,
    of_rung,
    proof_verdict,
)
from tritonwin.verify.records import Proof

_COPY = """
for (const block of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command " + block.textContent);
  button.onclick = () => navigator.clipboard.writeText(block.textContent)
    .then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it"; });
  block.after(button);
}
"""

# Colours keep a contrast of 4.5 to their ground, in both schemes.
_STYLE = """
:root { color-scheme: light dark; --page: #fbfaf7; --text: #1d1f23; --faint: #62676f;
  --line: #dcd9d0; --passed: #1e7044; --broken: #b3261e; --warned: #8a5a00; --absent: #62676f;
  --rail: #b59a6a; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --text: #e6e4df; --faint: #9aa0a8;
  --line: #33363c; --passed: #5bc48c; --broken: #ff8a80; --warned: #e0b050; --absent: #9aa0a8;
  --rail: #8a744c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 1.5rem 0 .25rem; }
.verdict { margin: .25rem 0 1.25rem; } .faint { color: var(--faint); }
.passed { color: var(--passed); } .broken { color: var(--broken); }
.warned { color: var(--warned); } .absent { color: var(--absent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; }
dt { color: var(--faint); } dd { margin: 0; }
p { margin: .25rem 0; }
code, pre { font: .85rem/1.45 ui-monospace, Consolas, monospace; }
pre { background: color-mix(in srgb, var(--line) 40%, transparent); padding: .6rem .8rem;
  white-space: pre-wrap; margin: .4rem 0; } summary { cursor: pointer; padding: .3rem 0; }
button { font: inherit; font-size: .85rem; color: inherit; background: none; cursor: pointer;
  border: 1px solid var(--faint); border-radius: .3rem; padding: .25rem .9rem; margin: 0 0 .4rem; }
td { padding: 0 1rem 0 0; vertical-align: top; } td:first-child { white-space: nowrap; }
"""


_DIAGNOSIS_STYLE = """
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
ul { margin: .25rem 0; padding-left: 1.2rem; }
table { border-collapse: collapse; }
"""
_STEP = 20  # pixels from rung to rung
_LEFT, _RIGHT = 26, 106  # the rails
_TOP = 18
_PROOF_STYLE = """
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
_CLASSES: dict[Tone, str] = {
    "good": "passed",
    "notice": "absent",
    "warning": "warned",
    "bad": "broken",
    "absent": "absent",
    "crashed": "broken",
}


def diagnosis_page(view: DiagnosisView) -> str:
    """A diagnosis. Everything that comes from the machine is escaped."""
    kind = "passed" if view.healthy else "broken"
    problems = "\n".join(map(_problem, view.problems))
    body = f"""<h1>What tritonwin doctor found</h1>
<p class="verdict {kind}"><strong>{shown(view.verdict)}</strong></p>
{listed((*view.machine, ("made by", f"tritonwin {__version__}")))}
<main>
{problems}
<details><summary>All {len(view.checks)} checks</summary>
<table>{"".join(map(_check, view.checks))}</table></details>
</main>"""
    return page(
        schema="tritonwin.doctor/1",
        title=f"tritonwin doctor: {view.verdict}",
        body=body,
        style=_DIAGNOSIS_STYLE,
        copies=True,
    )


def _problem(view: ProblemView) -> str:
    problem = view.problem
    evidence = "".join(
        f'<li>{shown(e.text)} <span class="faint">in {shown(e.where)}</span></li>'
        for e in problem.evidence
    )
    commands = "".join(f'<pre class="command">{shown(c)}</pre>' for c in problem.remedy.commands)
    asked = (
        f"<p>To be sure: {shown(problem.question.text)}</p>"
        f'<pre class="command">{shown(problem.question.command)}</pre>'
        if problem.question
        else ""
    )
    titles = "; ".join(view.explains)
    explained = f'<p class="faint">This also explains: {shown(titles)}.</p>' if titles else ""
    return (
        f'<article id="{shown(problem.id)}"><h2>{shown(problem.title)}</h2>'
        f'<p><strong class="{_CLASSES[view.tone]}">{view.label}</strong> '
        f'<code class="faint">{shown(problem.id)}</code></p>'
        f"<p>{shown(problem.cause)}</p><ul>{evidence}</ul>"
        f"<p><strong>Help:</strong> {shown(problem.remedy.summary)}</p>{commands}"
        f"{asked}{explained}</article>"
    )


def _check(view: CheckView) -> str:
    check = view.check
    detail = f" ({check.detail})" if check.detail else ""
    return (
        f'<tr><td class="{_CLASSES[view.tone]}">{view.word}</td><td>{shown(check.title)}'
        f'<span class="faint">{shown(detail)}</span></td></tr>'
    )


def proof_page(report: VerifyReport) -> str:
    """A proof. Everything that comes from the machine is escaped."""
    said = proof_verdict(Proof(results=report.rungs), rungs=report.ladder, complete=report.complete)
    kind = "passed" if report.proven else "broken"
    rungs = tuple(map(of_rung, report.rungs))
    facts = {
        **report.machine,
        "kernels for": f"sm_{report.arch}",
        "made": f"{report.when or ''} by {report.tool.name} {report.tool.version}",
    }
    body = f"""<h1>What is proven on this machine</h1>
<p class="verdict {kind}"><strong>{shown(said)}</strong></p>
{listed(facts.items())}
<main>
{_ladder(rungs)}
<ol>
{chr(10).join(_entry(rung, number) for number, rung in enumerate(rungs, 1))}
</ol>
</main>"""
    return page(
        schema=report.schema, title=f"tritonwin verify: {said}", body=body, style=_PROOF_STYLE
    )


def _rung_class(rung: RungView) -> str:
    """A rung that was skipped is as absent as one that does not apply."""
    return "absent" if rung.tone == "warning" else _CLASSES[rung.tone]


def _ladder(rungs: tuple[RungView, ...]) -> str:
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


def _drawn(rung: RungView, number: int, y: int) -> str:
    kind = _rung_class(rung)
    ends = [(_LEFT + 5, _RIGHT - 5)]
    if kind == "broken":
        ends = [(_LEFT + 5, _LEFT + 30), (_RIGHT - 30, _RIGHT - 5)]
    lines = "".join(f'<line class="{kind}" x1="{a}" y1="{y}" x2="{b}" y2="{y}"/>' for a, b in ends)
    title = shown(f"{rung.rung.id}: {rung.text}")
    return (
        f'<a href="#{shown(rung.rung.id)}"><title>{title}</title>{lines}'
        f'<text x="{_RIGHT + 8}" y="{y + 4}">{number}</text></a>'
    )


def _entry(view: RungView, number: int) -> str:
    rung = view.rung
    seconds = f' <span class="faint">{rung.seconds:.1f} s</span>' if rung.seconds else ""
    return (
        f'<li id="{shown(rung.id)}"><p><span class="faint">{number}</span> '
        f'<strong>{shown(rung.title)}</strong> <code class="faint">{shown(rung.id)}</code></p>'
        f'<p><strong class="{_rung_class(view)}">{view.text}</strong>{seconds} '
        f"{shown(rung.detail)}</p>{_looks_like(view)}{_said(view)}"
        f'<p class="faint">Proves: {shown(rung.proves)}.</p>{_figures(view)}</li>'
    )


def _looks_like(rung: RungView) -> str:
    return "".join(
        f"<p>This looks like: <strong>{shown(title)}</strong> <code>{shown(name)}</code></p>"
        for name, title in rung.problems
    )


def _said(rung: RungView) -> str:
    return f"<pre>{chr(10).join(map(shown, rung.lines))}</pre>" if rung.lines else ""


def _figures(rung: RungView) -> str:
    rows = "".join(
        f"<tr><td>{shown(name)}</td><td>{shown(str(value))}</td></tr>"
        for name, value in rung.rung.figures.items()
    )
    if not rows:
        return ""
    return f'<details class="faint"><summary>figures</summary><table>{rows}</table></details>'


def shown(text: str) -> str:
    """Foreign text as it may stand in the page."""
    return escape(printable(text))


def listed(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what they are, as a list of definitions."""
    inner = "".join(f"<dt>{shown(name)}</dt><dd>{shown(value)}</dd>" for name, value in rows)
    return f"<dl>{inner}</dl>"


def page(*, schema: str, title: str, body: str, style: str = "", copies: bool = False) -> str:
    """The whole document.

    Args:
        title: of the window; foreign text.
        body: HTML, its foreign text already made safe by `shown`.
        style: what this report needs besides.
        copies: whether the script for `pre.command` belongs into it.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    script = ""
    if copies:
        digest = base64.b64encode(hashlib.sha256(_COPY.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        script = f"<script>{_COPY}</script>\n"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{shown(schema)}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{shown(title)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
{body}
{script}</body>
</html>
"""
