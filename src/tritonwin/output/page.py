"""The frame of every HTML report: one file, nothing loaded, light and dark, narrow and wide.

No script is needed. The one that is there adds buttons to copy commands with, where scripts run;
the policy of the page allows exactly that script, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from tritonwin.output.text import printable

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
