"""Pages of the documentation site that follow from data: problems, commands, the library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

from tritonwin.cli.app import COMMANDS
from tritonwin.cli.app import main as program
from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.model import LAYERS, Entry, LinePattern, Signature
from tritonwin.system import toml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "tests" / "corpus" / "signatures"

_CHECKS = {check.id: check for check in CHECKS}
_PROBLEMS = """\
# All problems

From the ground up: what others rest on comes first. `doctor` finds those that have a check,
`explain` those that a log can show, and `fix` puts right what it says it does.
"""
_COMMANDS = """\
# All commands

This is what `tritonwin COMMAND --help` prints. All of them exit with one of
"""
_LIBRARY = """\
# Library

Everything that the commands do can be imported. Records are frozen dataclasses; `None` in one means
"not known", never "no".

```python
from pathlib import Path

from tritonwin.problems.explain import explain_lines

for problem in explain_lines(Path("build.log").read_text().splitlines()).problems:
    print(problem.id, problem.certainty, problem.remedy.summary)
```
"""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LAYER_WORDS = {
    "machine": "The machine", "driver": "The driver", "interpreter": "Python",
    "environment": "The environment", "packages": "Packages", "binaries": "Binaries",
    "headers": "Headers", "compiler": "The compiler", "cuda": "CUDA", "gpu": "The GPU",
    "cache": "Caches", "runtime": "While it runs", "build": "Builds from source",
}  # fmt: skip


def problem_pages() -> dict[str, str]:
    """One page a problem, and an index by layer; by their paths below the site's folder."""
    entries = list(catalogue.load().entries.values())
    pages = {f"problems/{entry.id}.md": problem_page(entry, entries) for entry in entries}
    return {"problems/index.md": _problem_index(entries), **pages}


def _problem_index(entries: Sequence[Entry]) -> str:
    blocks = [_PROBLEMS]
    for layer in LAYERS:
        rows = [_problem_row(entry) for entry in entries if entry.layer == layer]
        head = "| problem | doctor | explain | fix |\n| --- | --- | --- | --- |"
        blocks += [f"## {_LAYER_WORDS[layer]}", "\n".join([head, *rows])]
    return _page(blocks)


def _problem_row(entry: Entry) -> str:
    has = (entry.id in _CHECKS, bool(entry.signatures), bool(entry.actions))
    marks = " | ".join("yes" if it else "" for it in has)
    return f"| [{_emphasised(entry.title)}]({entry.id}.md) | {marks} |"


def problem_page(entry: Entry, entries: Sequence[Entry]) -> str:
    """Everything that the catalogue knows of a problem, in words."""
    blocks = [
        f"# {_emphasised(entry.title)}",
        f"`{entry.id}`, {entry.severity}.",
        "## Cause",
        _emphasised(entry.cause),
        "## How it shows",
        *_seen_by_doctor(entry),
        *_seen_in_a_log(entry),
        "## What helps",
        *_remedy(entry),
    ]
    titles = {other.id: other.title for other in entries}
    for heading, ids in (
        ("What follows from it", entry.explains),
        ("What it may follow from", [e.id for e in entries if entry.id in e.explains]),
    ):
        if ids:
            links = [f"- [{_emphasised(titles[i])}]({i}.md)" for i in ids]
            blocks += [f"## {heading}", "\n".join(links)]
    if entry.references:
        blocks += ["## References", "\n".join(f"- <{each}>" for each in entry.references)]
    return _page(blocks)


def _page(blocks: Sequence[str]) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"


def _emphasised(text: str) -> str:
    """A sentence of the catalogue; what a finding fills in stands in italics."""
    plain = _PLACEHOLDER.sub(lambda m: f"\0{m[1].replace('_', ' ')}\0", " ".join(text.split()))
    return re.sub(r"([*_<>\[\]`\\])", r"\\\1", plain).replace("\0", "*")


def _in_capitals(command: str) -> str:
    """A command of the catalogue as an indented block; what a finding fills in is in capitals."""
    return "    " + _PLACEHOLDER.sub(lambda m: m[1].upper(), command)


def _seen_by_doctor(entry: Entry) -> list[str]:
    check = _CHECKS.get(entry.id)
    if check is None:
        return [f"Only a log can show it: {entry.log_only}."]
    where = "on Windows" if check.windows_only else "on any system"
    said = (
        f"`tritonwin doctor` looks {where} whether {check.title}, and shows with the problem what "
        "it saw and where: the file, the variable or the version."
    )
    return [said, f"    tritonwin doctor --only {entry.id}"]


def _seen_in_a_log(entry: Entry) -> list[str]:
    if not entry.signatures:
        return ["No log shows it."]
    blocks = ["`tritonwin explain` finds it in a log by"]
    blocks.append("\n".join(f"- {_in_words(signature)}" for signature in entry.signatures))
    example = _examples().get(entry.id)
    if example:
        blocks += ["for instance", f"```text\n{example}\n```"]
    return blocks


def _in_words(signature: Signature) -> str:
    words = [f"a line with {_literals(signature.pattern)}"]
    before = "in the same failure after" if signature.near else "after"
    words += [f"{before} a line with {_literals(p)}" for p in signature.before]
    words += [f"before a line with {_literals(p)}" for p in signature.after]
    words += [f"and no line with {_literals(p)}" for p in signature.without]
    if signature.when:
        facts = (f"{c.fact.replace('_', ' ')} is {' or '.join(c.allowed)}" for c in signature.when)
        words.append(f"where {' and '.join(facts)}")
    unknown = f"; where that is not known: {signature.unknown}" if signature.unknown else ""
    return f"{', '.join(words)} ({signature.certainty}{unknown})"


def _literals(pattern: LinePattern) -> str:
    ticks = {anchor: "``" if "`" in anchor else "`" for anchor in pattern.anchors}
    shown = " or ".join(f"{t} {anchor} {t}" for anchor, t in ticks.items())
    return f"{shown} in its usual form" if pattern.line else shown


@cache
def _examples() -> Mapping[str, str]:
    """The first text of the tests for each problem."""
    found = {}
    for path in sorted(EXAMPLES.glob("*.toml")):
        for problem, texts in toml.loads(path.read_text("utf-8")).items():
            kinds = [texts.get(name) for name in ("certain", "likely", "possible")]
            first = next((kind[0] for kind in kinds if isinstance(kind, list) and kind), None)
            if isinstance(first, str) and "```" not in first:
                found[problem] = first.strip("\n")
    return found


def _remedy(entry: Entry) -> list[str]:
    blocks = [_emphasised(entry.remedy.summary)]
    if entry.remedy.commands:
        blocks.append("What is in capitals here, `doctor` fills in:")
        blocks.append("\n".join(_in_capitals(command) for command in entry.remedy.commands))
    if entry.actions:
        names = ", ".join(f"`{action.name}`" for action in entry.actions)
        blocks.append(
            f"`tritonwin fix --only {entry.id}` does it ({names}), and `tritonwin undo` gives back "
            "what was there."
        )
    else:
        blocks.append("`tritonwin fix` does not do this: it says what to do, and does the rest.")
    if entry.question:
        blocks.append(f"Where it is not certain: {_emphasised(entry.question.text)}")
        blocks.append(_in_capitals(entry.question.command))
    return blocks


def commands_page() -> str:
    """What `--help` says of every command."""
    blocks = [_COMMANDS, _statuses()]
    with click.Context(program, info_name="tritonwin", max_content_width=88) as top:
        for name in COMMANDS:
            command = program.get_command(top, name)
            if command is None:  # COMMANDS is what get_command looks in
                raise AssertionError(name)
            for words, text in _helps(command, name, top):
                level = "#" * (words.count(" ") + 2)
                blocks += [f"{level} {words}", f"```text\n{text}\n```"]
    return _page(blocks)


def _statuses() -> str:
    """The table of exit statuses in the README, which a test holds to errors.Exit."""
    readme = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^\| status \|(?:.*\|\n)+", readme, re.MULTILINE)
    if found is None:
        raise LookupError("the README has no table of exit statuses")
    return found[0]


def _helps(command: click.Command, name: str, parent: click.Context) -> Iterator[tuple[str, str]]:
    """The words and the help of a command and of those below it."""
    with click.Context(command, info_name=name, parent=parent) as context:
        yield context.command_path.partition(" ")[2], command.get_help(context)
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                below = command.get_command(context, inner)
                if below is not None:
                    yield from _helps(below, inner, context)


def library_pages(sections: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The reference: a page for each `[[library]]` of docs/site.toml, filled by mkdocstrings."""
    links = [f"- [{section['title']}]({section['page']}.md)" for section in sections]
    pages = {"library/index.md": _page([_LIBRARY, "\n".join(links)])}
    for section in sections:
        modules = [f"::: {module}" for module in section["modules"]]
        pages[f"library/{section['page']}.md"] = _page([f"# {section['title']}", *modules])
    return pages
