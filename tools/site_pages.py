"""Pages of the documentation site that are written from data when the site is built.

`pages` returns all of them: problems, checks, rungs, rules, commands, speed and the library.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import click
from packaging.version import Version

from tritonwin import COMMANDS
from tritonwin.cli.app import main as program
from tritonwin.errors import Exit
from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Flavour, Rule, RuleState
from tritonwin.patch.rules import RULES
from tritonwin.problems import catalogue
from tritonwin.problems.advice import PLACEHOLDERS, sentence
from tritonwin.problems.catalogue import LAYERS, Entry, LinePattern, LogSignature
from tritonwin.problems.checks import CHECKS
from tritonwin.system import toml
from tritonwin.verify import records as ladder

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "tests" / "corpus" / "signatures"

_PROBLEMS = """\
# All problems

From the ground up: what others rest on comes first. `doctor` finds those that have a check,
`explain` those that a log can show, and `fix` repairs those marked so.
"""
_CHECKS_HEAD = """\
# What doctor checks, and what only a log can show

Every check has the id of the problem that it looks for. Checks marked "any system" also run on
Linux.
"""
_LADDER_HEAD = """\
# The rungs of the proof ladder

What the ladder is and how to read its result: [verify.md](verify.md).

A rung runs when the rungs before it have passed, its packages are installed and the machine has
what it asks for. Otherwise the report says what is missing. It is ended after its limit, or after
`--rung-timeout`.
"""
_RULES_HEAD = """\
# The rules of `tritonwin patch`

What they are for and how they are applied: [patch.md](../patch.md). The second column has the names
of the defects in `patch status --json`.
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
_STATUSES = {
    Exit.DONE: "done, or nothing worse than information",
    Exit.PROBLEMS: "at least one error or warning, or a proof that failed",
    Exit.USAGE: "wrong use, or a target or input that cannot be used",
    Exit.INTERNAL: "tritonwin itself failed",
}
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LAYER_WORDS = {
    "machine": "The machine", "driver": "The driver", "interpreter": "Python",
    "environment": "The environment", "packages": "Packages", "binaries": "Binaries",
    "headers": "Headers", "compiler": "The compiler", "cuda": "CUDA", "gpu": "The GPU",
    "cache": "Caches", "runtime": "While it runs", "build": "Builds from source",
}  # fmt: skip


def pages(library: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Every page by its path below the site's folder; `library` is that of docs/site.toml."""
    return {
        "commands.md": commands_page(),
        "checks.md": checks_page(),
        "ladder.md": ladder_page(),
        "speed.md": speed_page(),
        **problem_pages(),
        **rule_pages(),
        **library_pages(library),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def problem_pages() -> dict[str, str]:
    """One page a problem, and an index by layer; by their paths below the site's folder."""
    entries = list(catalogue.load().entries.values())
    pages = {f"problems/{entry.id}.md": problem_page(entry, entries) for entry in entries}
    return {"problems/index.md": _problem_index(entries), **pages}


def _problem_index(entries: Sequence[Entry]) -> str:
    blocks = [_PROBLEMS]
    for layer in LAYERS:
        rows = [_problem_row(entry) for entry in entries if entry.layer == layer]
        head = ("problem", "doctor", "explain", "fix")
        blocks += [f"## {_LAYER_WORDS[layer]}", _table(head, rows)]
    return _page(blocks)


def _problem_row(entry: Entry) -> Sequence[str]:
    has = (entry.check is not None, bool(entry.signatures), bool(entry.actions))
    return f"[{_emphasised(entry.title)}]({entry.id}.md)", *("yes" if it else "" for it in has)


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
    plain = sentence(text, _NAMED)
    return re.sub(r"([*_<>\[\]`\\])", r"\\\1", plain).replace("\0", "*")


# the pairs stand on a page of their own
_NAMED = {n: f"\0{n.replace('_', ' ')}\0" for n in PLACEHOLDERS if n != "torch_pairs"}


def _in_capitals(command: str) -> str:
    """A command of the catalogue as an indented block; what a finding fills in is in capitals."""
    return "    " + _PLACEHOLDER.sub(lambda m: m[1].upper(), command)


def _seen_by_doctor(entry: Entry) -> list[str]:
    if entry.check is None:
        return [f"Only a log can show it: {entry.log_only}."]
    where = "on Windows" if entry.check.windows_only else "on any system"
    said = (
        f"`tritonwin doctor` looks {where} whether {entry.check.title}, and shows with the problem "
        "what it saw and where: the file, the variable or the version."
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


def _in_words(signature: LogSignature) -> str:
    words = [f"a line with {_literals(signature)}"]
    before = "in the same failure after" if signature.near else "after"
    pattern = catalogue.load().pattern
    words += [f"{before} a line with {_literals(pattern(p))}" for p in signature.before]
    words += [f"before a line with {_literals(pattern(p))}" for p in signature.after]
    words += [f"and no line with {_literals(pattern(p))}" for p in signature.without]
    if when := signature.when.conditions():
        facts = (f"{fact.replace('_', ' ')} is {' or '.join(allowed)}" for fact, allowed in when)
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
    for each in entry.remedies:
        met = ", ".join(f"{fact} {' or '.join(of)}" for fact, of in each.when.conditions())
        blocks.append(f"Where it is {_emphasised(met)}: {_emphasised(each.summary)}")
        blocks += ["\n".join(map(_in_capitals, each.commands))] if each.commands else []
    if entry.actions:
        names = ", ".join(f"`{action.name}`" for action in entry.actions)
        blocks.append(
            f"`tritonwin fix --only {entry.id}` does it ({names}), and `tritonwin undo` restores "
            "what was there."
        )
    else:
        blocks.append("`tritonwin fix` does not do this: it says what to do, and does the rest.")
    if entry.question:
        blocks.append(f"Where it is not certain: {_emphasised(entry.question.text)}")
        blocks.append(_in_capitals(entry.question.command))
    return blocks


def checks_page() -> str:
    """Every check, and every problem that no check can find, with the reason."""
    checks = [
        (f"`{c.id}`", c.terms.title, "Windows" if c.terms.windows_only else "any system")
        for c in CHECKS
    ]
    entries = catalogue.load().entries.values()
    others = [(f"`{e.id}`", e.log_only) for e in entries if e.log_only]
    return _page(
        [
            _CHECKS_HEAD,
            f"## The {len(CHECKS)} checks",
            _table(("id", "as it should be", "where"), checks),
            "## What only a log can show",
            _table(("id", "why"), others),
        ]
    )


def ladder_page() -> str:
    """Every rung, what it proves and what it needs."""
    rows = [
        (
            number,
            f"`{rung.id}`",
            rung.proves,
            ", ".join(rung.needs),
            ", ".join((*rung.packages, *rung.demands)),
            f"{rung.limit:g}",
        )
        for number, rung in enumerate(ladder.load().rung, 1)
    ]
    head = ("", "id", "what is proven when it passes", "rungs before", "asks for", "limit, s")
    return _page(
        [
            _LADDER_HEAD,
            _table(head, rows),
        ]
    )


def speed_page() -> str:
    """Every measured figure beside its goal, from benchmarks/results/cpu.json."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import figures

    found, measured = figures.load()
    day = date.fromisoformat(found["date"])
    note = f", {found['note']}" if found["note"] else ""
    rows = [(f.what, f.where, f.shown, f.aim, "met" if f.met else "**missed**") for f in measured]
    return _page(
        [
            "# How fast it is",
            "Each figure beside its goal; ratios where something known does the same.",
            f"{found['machine']}, {day.day} {day:%B %Y}, Python {found['python']}{note}.",
            _table(("what", "where", "measured", "goal", ""), rows),
        ]
    )


# releases of triton-windows on the rules' pages; those of upstream are the lane's
FORKS = (
    "3.1.0.post17", "3.2.0.post21", "3.3.1.post21", "3.4.0.post21", "3.5.1.post24", "3.6.0.post26",
    "3.7.1.post27", "3.8.0.post29",
)  # fmt: skip
_LONGEST_DIFF = 60  # lines
_NEEDS = {
    "jit": "no kernel compiles or launches",
    "robust": "Triton fails in some situations, or misleads",
    "tools": "one of Triton's tools fails, apart from kernels",
}
_STATES: dict[RuleState, str] = {
    "needed": "needed",
    "fixed-upstream": "works already",
    "fixed-by-fork": "fixed by triton-windows",
    "not-applicable": "-",
    "unknown": "unknown form",
}


def rule_pages() -> dict[str, str]:
    """One page a rule of `patch`, and an index.

    The edits and the table of versions need the sources of every release, which the Windows lane
    keeps in its cache and fetches where they are missing. Without them pages say so.
    """
    rows = [(f"[{r.id}]({r.id}.md)", r.defect, f"`{r.file}`", _NEEDS[r.need]) for r in RULES]
    index = [
        _RULES_HEAD,
        _table(("rule", "defect", "file", "without it"), rows),
    ]
    found = releases()
    written = {f"patch/{rule.id}.md": _rule_page(rule, found) for rule in RULES}
    return {"patch/index.md": _page(index), **written}


Releases = Mapping[tuple[Flavour, str], Path]


@cache
def releases() -> Releases:
    """The package folder of every release, upstream's and the fork's; empty without network."""
    try:
        from winlane.cache import Cache
        from winlane.errors import LaneError
        from winlane.upstream import UPSTREAM, Upstream
    except ImportError:  # the lane needs Linux
        return {}
    lane = Upstream(Cache.open())
    try:
        found: dict[tuple[Flavour, str], Path] = {}
        found |= {("upstream", v): lane.sources(v) / "triton" for v in UPSTREAM}
        found |= {("fork", v): lane.fork(v) / "triton" for v in FORKS}
    except (LaneError, OSError) as error:
        print(f"pages of rules without edits and versions: {error}", file=sys.stderr)
        return {}
    return found


def _rule_page(rule: Rule, found: Releases) -> str:
    backend = {"nvidia": ", for NVIDIA", "amd": ", for AMD"}.get(rule.backend or "", "")
    blocks = [
        f"# Rule `{rule.id}`",
        f"In `triton/{rule.file}`{backend}. Without it {_NEEDS[rule.need]}.",
        "## The error",
        f"    {rule.removes}",
        "## Why",
        rule.why,
    ]
    if rule.covers:
        blocks.append(f"The same edit removes the defects {', '.join(rule.covers)}.")
    if not found:
        blocks.append("The edit: `tritonwin patch diff`. This page was built without network.")
        return _page(blocks)
    verdicts = {
        (flavour, version): _verdict(rule, flavour, folder)
        for (flavour, version), folder in found.items()
    }
    return _page([*blocks, *_edit(rule, found, verdicts), "## Versions", _versions(verdicts)])


def _source(rule: Rule, folder: Path) -> Source | None:
    path = folder / rule.file
    return Source(path.read_text("utf-8")) if path.exists() else None


def _verdict(rule: Rule, flavour: Flavour, folder: Path) -> engine.Verdict:
    source = _source(rule, folder)
    if source is None:
        return engine.Verdict("not-applicable", "there is no such file")
    return engine.judge(rule, source, flavour)


Verdicts = Mapping[tuple[Flavour, str], engine.Verdict]


def _edit(rule: Rule, found: Releases, verdicts: Verdicts) -> Iterator[str]:
    """The changes by the rule alone in the newest release that needs it, upstream's preferred."""
    newest = sorted(verdicts, key=lambda r: (r[0] == "upstream", Version(r[1])), reverse=True)
    flavour, version = next(release for release in newest if verdicts[release].text is not None)
    new, old = verdicts[flavour, version].text, _source(rule, found[flavour, version])
    if new is None or old is None:
        raise LookupError(rule.id)
    texts = (old.text.split("\n"), new.split("\n"))
    lines = list(difflib.unified_diff(*texts, lineterm="", n=2))[2:]
    if len(lines) > _LONGEST_DIFF:
        more = len(lines) - _LONGEST_DIFF
        lines[_LONGEST_DIFF:] = [f"... and {more} more lines: `tritonwin patch diff` shows them"]
    name = "Triton" if flavour == "upstream" else "triton-windows"
    diff = "\n".join(lines)
    yield from ("## The edit", f"As it is made in {name} {version}:", f"```diff\n{diff}\n```")


def _versions(verdicts: Verdicts) -> str:
    forks = {
        v.rpartition(".post")[0]: _STATES[verdicts[f, v].state] for f, v in verdicts if f == "fork"
    }
    rows = [
        (version, _STATES[verdicts[flavour, version].state], forks.get(version, "no such release"))
        for flavour, version in verdicts
        if flavour == "upstream"
    ]
    return _table(("Triton", "upstream", "triton-windows"), rows)


def commands_page() -> str:
    """The output of `--help` for every command."""
    statuses = ((status.value, _STATUSES[status]) for status in Exit)
    blocks = [_COMMANDS, _table(("status", "meaning"), statuses)]
    with click.Context(program, info_name="tritonwin", max_content_width=88) as top:
        for name in COMMANDS:
            command = program.get_command(top, name)
            if command is None:  # COMMANDS is what get_command looks in
                raise AssertionError(name)
            for words, text in _helps(command, name, top):
                level = "#" * (words.count(" ") + 2)
                blocks += [f"{level} {words}", f"```text\n{text}\n```"]
    return _page(blocks)


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
