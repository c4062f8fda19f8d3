"""What doctor found as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin import __version__
from tritonwin.facts.records import Facts
from tritonwin.output.environment import described
from tritonwin.output.page import listed, page, shown
from tritonwin.output.terminal import verdict
from tritonwin.problems import catalogue
from tritonwin.problems.records import CheckState, Diagnosis, Problem

_KINDS: dict[str, str] = {"error": "broken", "warning": "warned", "info": "absent"}
_STATES: dict[CheckState, tuple[str, str]] = {
    "ok": ("passed", "ok"),
    "info": ("absent", "info"),
    "warning": ("warned", "warning"),
    "problem": ("broken", "problem"),
    "not-applicable": ("absent", "not applicable"),
    "crashed": ("broken", "check crashed"),
}
_STYLE = """
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
ul { margin: .25rem 0; padding-left: 1.2rem; }
table { border-collapse: collapse; }
"""


def html_page(facts: Facts, diagnosis: Diagnosis) -> str:
    """The page. Everything that comes from the machine is escaped."""
    said = verdict(diagnosis)
    kind = "passed" if diagnosis.healthy else "broken"
    problems = "\n".join(_problem(p) for p in diagnosis.problems)
    body = f"""<h1>What tritonwin doctor found</h1>
<p class="verdict {kind}"><strong>{shown(said)}</strong></p>
{listed((*described(facts), ("made by", f"tritonwin {__version__}")))}
<main>
{problems}
<details><summary>All {len(diagnosis.checks)} checks</summary>
<table>{"".join(_checks(diagnosis))}</table></details>
</main>"""
    return page(
        schema="tritonwin.doctor/1",
        title=f"tritonwin doctor: {said}",
        body=body,
        style=_STYLE,
        copies=True,
    )


def _problem(problem: Problem) -> str:
    sure = "" if problem.certainty == "certain" else f", {problem.certainty}"
    evidence = "".join(
        f'<li>{shown(e.text)} <span class="faint">in {shown(e.where)}</span></li>'
        for e in problem.evidence
    )
    commands = "".join(f'<pre class="command">{shown(c)}</pre>' for c in problem.remedy.commands)
    return (
        f'<article id="{shown(problem.id)}"><h2>{shown(problem.title)}</h2>'
        f'<p><strong class="{_KINDS[problem.severity]}">{problem.severity}{sure}</strong> '
        f'<code class="faint">{shown(problem.id)}</code></p>'
        f"<p>{shown(problem.cause)}</p><ul>{evidence}</ul>"
        f"<p><strong>Help:</strong> {shown(problem.remedy.summary)}</p>{commands}"
        f"{_question(problem)}{_explained(problem)}</article>"
    )


def _question(problem: Problem) -> str:
    if problem.question is None:
        return ""
    return (
        f"<p>To be sure: {shown(problem.question.text)}</p>"
        f'<pre class="command">{shown(problem.question.command)}</pre>'
    )


def _explained(problem: Problem) -> str:
    titles = "; ".join(catalogue.load().entry(i).title for i in problem.explains)
    return f'<p class="faint">This also explains: {shown(titles)}.</p>' if titles else ""


def _checks(diagnosis: Diagnosis) -> Iterator[str]:
    for check in diagnosis.checks:
        kind, word = _STATES[check.state]
        detail = f" ({check.detail})" if check.detail else ""
        yield (
            f'<tr><td class="{kind}">{word}</td><td>{shown(check.title)}'
            f'<span class="faint">{shown(detail)}</span></td></tr>'
        )
