#!/usr/bin/env python3
"""Draw the terminal in docs/images from real output, as SVG for light and dark pages.

    python tools/pictures.py

The terminal shows `doctor` on a recorded Windows machine, and the end of `fix` from docs/stories.
Pictures of the local page: TRITONWIN_PICTURES=DIR pytest -m full tests/winlane/test_ui.py
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

from tritonwin.facts import snapshot
from tritonwin.output.terminal import Screen
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SNAPSHOT = ROOT / "src" / "tritonwin" / "demo" / "snapshots" / "no-headers.json"
STORY = ROOT / "docs" / "stories" / "repair.md"
PROMPT = r"C:\ComfyUI_windows_portable> "
START = r".\python_embeded\python.exe tritonwin.pyz"
WIDTH = 96  # no command of the story is longer
THEMES: dict[str, TerminalTheme] = {"light": DEFAULT_TERMINAL_THEME, "dark": DIMMED_MONOKAI}
# rich's own frame, without the font that it takes from another host
FRAME = Path(__file__).with_name("terminal.svg").read_text("utf-8")


def doctor() -> Iterator[str]:
    """The lines of `doctor` on the recorded machine, on a terminal of that width."""
    facts = snapshot.read(SNAPSHOT)
    view = of_diagnosis(facts, diagnose(facts, CHECKS), here=False)
    said = Console(file=io.StringIO(), width=WIDTH, color_system=None, markup=False)
    Screen(said).show(*view.screen(everything=False))
    yield from said.file.getvalue().splitlines()  # type: ignore[attr-defined]


def proof() -> Iterator[str]:
    """The end of `fix` in the story: the rungs that passed, the verdict, undo and guard."""
    lines = STORY.read_text("utf-8").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("  ok "))
    last = next(n for n, line in enumerate(lines) if " guard on " in line)
    yield from (line.partition("  (")[0] for line in lines[first : last + 1])


def terminal() -> Text:
    text = Text()
    for words, lines in (("doctor", doctor()), ("fix --yes", proof())):
        text.append(PROMPT, "bold")
        text.append(f"{START} {words}\n")
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()))
            for part in wrap(line, WIDTH, subsequent_indent=indent) or [""]:
                text.append(part + "\n", _style(part))
        text.append("\n")
    return text


def _style(line: str) -> str:
    word = line.split(maxsplit=1)[:1]
    if word and word[0].rstrip(":") in ("error", "problem"):
        return "bold red"
    return "bold green" if line.startswith(("Proven", "  ok ")) else ""


def main() -> None:
    shown = terminal()
    for scheme, theme in THEMES.items():
        console = Console(record=True, width=WIDTH, file=io.StringIO())
        console.print(shown, no_wrap=True, crop=False)
        svg = console.export_svg(
            title="Command Prompt", theme=theme, code_format=FRAME, unique_id="t"
        )
        (IMAGES / f"terminal-{scheme}.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
