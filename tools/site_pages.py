"""The parts of the documentation site that come from data: pages, and tables inside of pages.

`pages` returns whole pages (problems, rules, applications, speed, the library). `tables` returns
what stands in place of a line `<!-- table: NAME -->` in a page of docs/.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections import Counter
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
from tritonwin.output import about
from tritonwin.output.blocks import Block, CodeBlock, Prose, TextLine
from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Flavour, Rule
from tritonwin.patch.rules import RULES
from tritonwin.problems import catalogue
from tritonwin.problems.advice import general
from tritonwin.problems.catalogue import Entry
from tritonwin.system import toml
from tritonwin.verify import records as ladder

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "tests" / "corpus" / "signatures"
VENDORS = ROOT / "tests" / "corpus" / "vendors.toml"
SCREENS = ROOT / "tests" / "approved" / "screens"

_WORDS: dict[str, Any] = toml.loads((ROOT / "docs" / "site.toml").read_text("utf-8"))["words"]
_NEEDS: dict[str, str] = _WORDS["needs"]
_STATES: dict[str, str] = _WORDS["states"]
SEPARATOR = r"""[\s\-.,:;()\[\]{}<>"'`=/\\|]+"""  # as in mkdocs.yml
_OPEN_EXAMPLES = 2  # texts of a problem that its page shows at once; the others are folded


def pages(site: Mapping[str, Any]) -> dict[str, str]:
    """Every page by its path below the site's folder; `site` is docs/site.toml."""
    entries = list(catalogue.load().entries.values())
    return {
        "speed.md": speed_page(),
        **{f"problems/{entry.id}.md": problem_page(entry) for entry in entries},
        **{f"apps/{app['page']}.md": app_page(app) for app in site["app"]},
        **rule_pages(),
        **library_pages(site["library"]),
    }


def tables(site: Mapping[str, Any]) -> dict[str, str]:
    """Every table or list by the name that a page gives for it."""
    return {
        "problems": problem_table(),
        "rungs": rung_table(),
        "rules": rule_table(),
        "statuses": _table(
            ("status", "meaning"), ((s.value, _WORDS["statuses"][s.name]) for s in Exit)
        ),
        "commands": command_helps(),
        "build_plan": f"```text\n{(SCREENS / 'build-plan-120.txt').read_text('utf-8')}```",
        "apps": "\n".join(f"- [{app['title']}]({app['page']}.md)" for app in site["app"]),
        "library": "\n".join(f"- [{s['title']}]({s['page']}.md)" for s in site["library"]),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _page(blocks: Sequence[str], *, searched: bool = True, words: Sequence[str] = ()) -> str:
    """The blocks of a page, one below the other.

    `words` are its tags, which the search counts for more than titles.
    """
    settings: dict[str, Any] = {"tags": words} if words else {}
    if not searched:
        settings["search"] = {"exclude": True}
    head = [f"---\n{json.dumps(settings)}\n---"] if settings else []  # JSON is YAML
    return "\n\n".join(block.strip("\n") for block in (*head, *blocks)) + "\n"


# -- problems


def problem_table() -> str:
    """All problems in one table; the script of the site adds a filter above it."""
    rows = (
        (
            f"[{_title(e)}]({e.id}.md)",
            f"`{e.id}`",
            e.severity,
            _yes(e.check),
            _yes(e.signatures),
            _yes(e.actions),
        )
        for e in sorted(catalogue.load().entries.values(), key=lambda e: _title(e).lower())
    )
    return _table(("problem", "id", "severity", "doctor", "explain", "fix"), rows)


def _yes(it: object) -> str:
    return "yes" if it else ""


def _title(entry: Entry) -> str:
    return _emphasised(about.capital(entry.title))


def problem_page(entry: Entry) -> str:
    """The text of a problem's page: signs, quick fix, reason, check, related problems."""
    blocks = [f"# {_title(entry)}", f"`{entry.id}`: {about.described(entry)}", *_seen(entry)]
    for heading, inside in about.parts(entry, catalogue.load(), _marked):
        blocks += [f"## {heading}", *map(_markdown, inside)]
    return _page(blocks, words=_words()[entry.id])


def _marked(text: str) -> str:
    return general(text, mark="\0{}\0")


def _markdown(block: Block) -> str:
    match block:
        case CodeBlock(text=text):
            code = "\n".join(f"    {line}" for line in text.splitlines())
            own = text.startswith("tritonwin")
            return code if own else f"<!-- not run: it changes or asks a PC -->\n\n{code}"
        case Prose(text=address, label="see "):
            return f"- <{address}>"
        case Prose(text=text, label=label):
            strong = f"**{_emphasised(label.strip())}** " if label else ""
            return strong + _emphasised(text)
        case TextLine(spans=(verb, name, title)):
            return f"- {verb.text}`{name.text}`{_emphasised(title.text)}"
    raise TypeError(block)


@cache
def _words() -> Mapping[str, Sequence[str]]:
    """The words of each problem's error texts, without those that a tenth of all problems share."""
    found: dict[str, set[str]] = {}
    for id_, entry in catalogue.load().entries.items():
        text = " ".join((*_examples(id_), *(a for s in entry.signatures for a in s.anchors)))
        found[id_] = {word.lower() for word in re.split(SEPARATOR, text) if len(word) > 1}
    shared = Counter(word for words in found.values() for word in words)
    return {i: sorted(w for w in found[i] if shared[w] * 10 <= len(found)) for i in found}


def _emphasised(text: str) -> str:
    """A sentence of the catalogue; what a finding fills in stands in italics."""
    return re.sub(r"([*_<>\[\]`\\])", r"\\\1", text).replace("\0", "*")


def _seen(entry: Entry) -> Iterator[str]:
    texts = _examples(entry.id)
    if not texts:
        checked = f"it looks whether {entry.check.title}" if entry.check else ""
        yield from ("## What you see", f"No log shows it, `doctor` does: {checked}.")
        return
    yield "## What you see"
    printed = [f"<!-- not run: a program printed it -->\n\n```text\n{text}\n```" for text in texts]
    yield from printed[:_OPEN_EXAMPLES]
    if more := "\n\n".join(printed[_OPEN_EXAMPLES:]):
        folded = "\n".join(f"    {line}".rstrip() for line in more.split("\n"))
        yield f'??? note "Other texts with the same cause"\n\n{folded}'


@cache
def _all_examples() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(EXAMPLES.glob("*.toml")):
        for problem, texts in toml.loads(path.read_text("utf-8")).items():
            kinds = (texts.get(name, ()) for name in ("certain", "likely", "possible"))
            every = (t.strip("\n") for kind in kinds for t in kind if isinstance(t, str))
            found[problem] = tuple(dict.fromkeys(t for t in every if t and "```" not in t))
    for row in toml.loads(VENDORS.read_text("utf-8"))["row"]:
        problem = row["id"][0]
        found[problem] = (*found.get(problem, ()), row["text"].strip("\n"))
    return found


def _examples(problem: str) -> Sequence[str]:
    """The texts by which the tests know a problem, the surest first."""
    return _all_examples().get(problem, ())


# -- applications

_APP = """\
`doctor` changes nothing. `fix` shows its plan first and asks. `verify` proves the result.
`{start} undo` restores what was there. Close the application before `fix`.

Or put `tritonwin.bat` into that folder and double-click it: [a page](../ui.md) does the same."""


def app_page(app: Mapping[str, Any]) -> str:
    """The lines to copy for one application, and what is known of it."""
    start = app["start"]
    lines = (f"    {start} {command}" for command in ("doctor", "fix", "verify"))
    blocks = [f"# {app['title']}", app["where"]]
    if folder := app.get("folder"):
        blocks.append(f"    cd {folder}")
    blocks += [
        "\n".join(lines),
        _APP.format(start=start),
        "So that no update or custom node replaces what was proven ([guard](../guard.md)):",
        f"    {start} guard on",
        "SageAttention or FlashAttention in the build that fits:",
        f"    {start} install sageattention --dry-run\n    {start} install flash-attn --dry-run",
    ]
    if run := app.get("run"):
        blocks += [
            "A file that starts the application with the right environment, by a double click:",
            f"    {start} run --write-bat start.bat -- {run}",
        ]
    if known := app.get("known"):
        blocks += ["## What usually goes wrong here", "\n".join(f"- {line}" for line in known)]
    return _page([*blocks, "## Tested?", app["tested"]])


# -- the proof ladder


def rung_table() -> str:
    """Every rung: what it proves and what it needs."""
    rows = (
        (
            number,
            f"`{rung.id}`",
            rung.proves,
            ", ".join(rung.needs),
            ", ".join((*rung.packages, *rung.demands)),
            f"{rung.limit:g}",
        )
        for number, rung in enumerate(ladder.load().rung, 1)
    )
    head = ("", "id", "what is proven when it passes", "rungs before", "asks for", "limit, s")
    return _table(head, rows)


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


# -- rules of patch

# releases of triton-windows on the rules' pages; those of upstream are the lane's
FORKS = (
    "3.1.0.post17", "3.2.0.post21", "3.3.1.post21", "3.4.0.post21", "3.5.1.post24", "3.6.0.post26",
    "3.7.1.post27", "3.8.0.post29",
)  # fmt: skip
_LONGEST_DIFF = 60  # lines


def rule_table() -> str:
    """All rules; the names of the defects are those of `patch status --json`."""
    rows = ((f"[{r.id}]({r.id}.md)", r.defect, f"`{r.file}`", _NEEDS[r.need]) for r in RULES)
    return _table(("rule", "defect", "file", "without it"), rows)


def rule_pages() -> dict[str, str]:
    """One page a rule of `patch`.

    The edits and the table of versions need the sources of every release, which the Windows lane
    keeps in its cache and fetches where they are missing. Without them pages say so.
    """
    found = releases()
    return {f"patch/{rule.id}.md": _rule_page(rule, found) for rule in RULES}


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
        f"In `triton/{rule.file}`{backend}. Without it {_WORDS['needs'][rule.need]}.",
        "## The error",
        f"    {rule.removes}",
        "## Why",
        rule.why,
    ]
    if rule.covers:
        blocks.append(f"The same edit removes the defects {', '.join(rule.covers)}.")
    if not found:
        blocks.append("The edit: `tritonwin patch diff`. This page was built without network.")
        return _page(blocks, searched=False)
    verdicts = {
        (flavour, version): _verdict(rule, flavour, folder)
        for (flavour, version), folder in found.items()
    }
    blocks += [*_edit(rule, found, verdicts), "## Versions", _versions(verdicts)]
    return _page(blocks, searched=False)


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
        (
            version,
            _STATES[verdicts[flavour, version].state],
            forks.get(version, "no such release"),
        )
        for flavour, version in verdicts
        if flavour == "upstream"
    ]
    return _table(("Triton", "upstream", "triton-windows"), rows)


# -- commands and library


def command_helps() -> str:
    """The output of `--help` for every command, in the order of use."""
    blocks = []
    with click.Context(program, info_name="tritonwin", max_content_width=88) as top:
        for name in COMMANDS:
            command = program.get_command(top, name)
            if command is None:  # COMMANDS is what get_command looks in
                raise AssertionError(name)
            for words, text in _helps(command, name, top):
                level = "#" * (words.count(" ") + 2)
                why = _WORDS["not_run"].get(words)
                note = (f"<!-- not run: {why} -->",) if why else ()
                blocks += [f"{level} {words}", *note, f"```text\n{text}\n```"]
    return "\n\n".join(blocks)


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
    return {
        f"library/{section['page']}.md": _page(
            [f"# {section['title']}", *(f"::: {module}" for module in section["modules"])],
            searched=False,
        )
        for section in sections
    }
