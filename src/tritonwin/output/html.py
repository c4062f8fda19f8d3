"""Reports as HTML pages: one file, nothing loaded, light and dark, narrow, wide and on paper.

No script is needed. The one that is there adds buttons to copy commands with, where scripts run;
the policy of the page allows exactly that script, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from datetime import datetime, timezone
from html import escape
from importlib.resources import files

from tritonwin import __version__
from tritonwin.output.blocks import (
    Block,
    CodeBlock,
    Fold,
    Prose,
    Section,
    Span,
    Table,
    TextLine,
    pairs,
)
from tritonwin.output.invocation import spoken, typed
from tritonwin.output.text import printable
from tritonwin.output.view import View
from tritonwin.system.codec import map_text


def own_file(name: str) -> str:
    """`report.css`, `report.js`."""
    return files("tritonwin.output").joinpath(name).read_text("utf-8")


def report(view: View) -> str:
    """A page of its own: the answer, what to do; notes, checks and the machine folded.

    Everything that comes from the machine is escaped.
    """
    script = own_file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    machine = Fold("This machine", (pairs(view.machine),))
    made = view.when or datetime.now(timezone.utc).isoformat(timespec="seconds")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{view.schema}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{shown(view.headline)}</title>
<style>{own_file("report.css")}</style>
</head>
<body>
<main>
<h1 class="{view.tone}">{shown(view.headline)}</h1>
{rendered((*view.body, machine), own=view.here)}
</main>
<footer class="faint">tritonwin {__version__}, {shown(made)}</footer>
<script>{script}</script>
</body>
</html>
"""


def rendered(blocks: Iterable[Block], *, own: bool = True) -> str:
    """Blocks as HTML, their foreign text escaped; `own`: commands are for this machine."""
    known = (map_text(block, spoken) if own else block for block in blocks)
    return "\n".join(filter(None, (_block(block, own) for block in known)))


def _block(block: Block, own: bool) -> str:
    """The visitor of blocks."""
    match block:
        case TextLine(spans=spans):
            return f"<p>{''.join(map(_span, spans))}</p>" if spans else ""
        case Prose(label="- "):
            return f"<ul><li>{shown(block.text)}</li></ul>"
        case Prose(label="see "):
            return f'<p><a href="{shown(block.text)}">{shown(block.text)}</a></p>'
        case Prose():
            return f"<p><strong>{shown(block.label.capitalize())}</strong>{shown(block.text)}</p>"
        case Table():
            rows = ("".join(f"<td>{_span(cell)}</td>" for cell in row) for row in block.rows)
            return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
        case CodeBlock():
            kind = ' class="command"' if block.command else ""
            text = typed(block.text) if block.command and own else block.text
            return f"<pre{kind}>{shown(text)}</pre>"
        case Fold(blocks=()):
            return ""
        case Fold():
            title = shown(block.title)
            return (
                f"<details><summary>{title}</summary>\n{rendered(block.blocks, own=own)}</details>"
            )
        case Section():
            return _section(block, own)


def _section(block: Section, own: bool) -> str:
    """A problem or a rung, with what to do above the reasons."""
    parts = rendered(block.body, own=own)
    if block.remedy:
        todo = rendered(block.remedy, own=own)
        parts = f"<h3>Do this</h3>{todo}<h3>Why</h3>{parts}"
    return (
        f'<section id="{shown(block.name)}" class="{block.tone}">'
        f"<h2>{shown(block.title)}</h2>"
        f'<p><strong class="{block.tone}">{shown(block.label)}</strong> '
        f'<code class="faint">{shown(block.name)}</code></p>{parts}</section>'
    )


def _span(span: Span) -> str:
    text = shown(span.text)
    return text if span.tone == "plain" else f'<span class="{span.tone}">{text}</span>'


def shown(text: str) -> str:
    """Foreign text as it may stand in the page."""
    return escape("\n".join(map(printable, text.split("\n"))))
