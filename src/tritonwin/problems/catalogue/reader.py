"""Read the catalogue's TOML strictly: a slip in it is found by a test, not by a user.

    [[problem]]
    id = "old-setuptools"      # scripts and searches rely on it: it stays
    title = "setuptools is older than this Python"  # no full stop, no placeholder
    severity = "error"         # or "warning"; "info": it breaks nothing
    layer = "packages"         # what it is about, one of LAYERS (problems/model.py)
    cause = '''...'''          # two to four sentences, with {placeholders}
    explains = ["other-id"]    # problems that are moot where this one is certain
    references = ["https://..."]
    log_only = "..."           # instead of a check: why facts cannot show it

    [problem.remedy]
    summary = '''...'''        # what to do, in words
    commands = ['{python} -m pip install -U "setuptools"']  # left out where a value is not known

    [[problem.actions]]        # what `fix` does about it: one of ACTIONS below
    name = "install-distribution"
    arguments = { requirement = "setuptools" }

    [problem.question]         # what the user can find out where a log leaves it open
    text = "..."
    command = "..."

    [[problem.signatures]]     # see signatures.py

Any other key is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from tritonwin.problems import placeholders
from tritonwin.problems.catalogue import signatures
from tritonwin.problems.catalogue.table import CatalogueError, Table
from tritonwin.problems.model import (
    LAYERS,
    SEVERITIES,
    Action,
    Entry,
    LinePattern,
    Question,
    Remedy,
)
from tritonwin.system import toml

# The remedies that an entry may name, each with the arguments that it takes.
ACTIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(arguments)
    for name, arguments in {
        "install-distribution": ("requirement",),
        # "cuda" is not read: where it is not known, which torch to take is not known either
        "install-torch": ("requirement", "cuda"),
        "remove-distribution": ("distribution",),
        "python-headers": ("version", "folder"),
        "vc-runtime": ("folder",),
        "clear-cache": ("path",),
        "set-variable": ("variable", "value"),
        "unset-variable": ("variable",),
        "enable-long-paths": (),
        "rename-shadow": ("path",),
        "patch": (),
    }.items()
}


class UnknownProblemError(KeyError):
    """The catalogue has no entry of that id."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message's repr


@dataclass(frozen=True, eq=False)  # there is one, and what is made of it is kept by it
class Catalogue:
    """All entries by id, those that others rest on first (the order of LAYERS)."""

    entries: Mapping[str, Entry]

    def entry(self, problem_id: str) -> Entry:
        """The entry of an id; raises UnknownProblemError."""
        try:
            return self.entries[problem_id]
        except KeyError:
            raise UnknownProblemError(f"the catalogue has no problem {problem_id!r}") from None


def read(sources: Mapping[str, str]) -> Catalogue:
    """Build the catalogue from the texts of its files, by file name.

    Raises:
        CatalogueError: anything that is not as the entries' model wants it.
    """
    entries: dict[str, Entry] = {}
    origin: dict[str, str] = {}
    documents = {file: _document(file, text) for file, text in sources.items()}
    vocabulary = _vocabulary(documents)
    for file, document in documents.items():
        for entry in _entries(file, document, vocabulary):
            if entry.id in entries:
                raise CatalogueError(
                    f"{file}: {entry.id}: this id is taken, see {origin[entry.id]}"
                )
            entries[entry.id] = entry
            origin[entry.id] = file
    _check_explains(entries, origin)
    ordered = sorted(entries.values(), key=lambda entry: LAYERS.index(entry.layer))
    return Catalogue(MappingProxyType({entry.id: entry for entry in ordered}))


def _document(file: str, text: str) -> Table:
    try:
        return Table(toml.loads(text), file)
    except toml.TOMLDecodeError as error:
        raise CatalogueError(f"{file}: {error}") from None


def _vocabulary(documents: Mapping[str, Table]) -> signatures.Vocabulary:
    """What signatures of all files may name."""
    words: dict[str, str] = {}
    for document in documents.values():
        for table in document.optional_table("words"):
            for name in table.names():
                words[name] = signatures.spelled_out(table, table.take(name, str), words)
    marks: dict[str, LinePattern] = {}
    for document in documents.values():
        for name, mark in document.named_tables("marks").items():
            if name in marks:
                mark.fail("this mark is taken")
            marks[name] = signatures.pattern(mark, words)
            mark.end()
    return signatures.Vocabulary(words=words, marks=marks)


def _entries(file: str, document: Table, vocabulary: signatures.Vocabulary) -> tuple[Entry, ...]:
    entries = tuple(_entry(table, file, vocabulary) for table in document.tables("problem"))
    document.end()
    return entries


def _entry(table: Table, file: str, vocabulary: signatures.Vocabulary) -> Entry:
    problem_id = table.text("id")
    table.where = f"{file}: {problem_id}"
    actions = tuple(_action(item) for item in table.tables("actions"))
    entry = Entry(
        id=problem_id,
        title=table.text("title"),
        severity=table.choice("severity", SEVERITIES),
        layer=table.choice("layer", LAYERS),
        cause=table.template("cause"),
        remedy=_remedy(Table(table.take("remedy", dict), table.where), automatic=bool(actions)),
        explains=table.texts("explains"),
        references=table.texts("references"),
        actions=actions,
        log_only=table.optional_text("log_only"),
        signatures=tuple(signatures.signature(t, vocabulary) for t in table.tables("signatures")),
        question=next((_question(t) for t in table.optional_table("question")), None),
    )
    table.end()
    return entry


def _question(table: Table) -> Question:
    command = table.template("command")
    for name in placeholders.unquoted(command):
        table.fail(f"{{{name}}} stands outside double quotes: {command}")
    question = Question(text=table.template("text"), command=command)
    table.end()
    return question


def _remedy(table: Table, *, automatic: bool) -> Remedy:
    remedy = Remedy(
        summary=table.template("summary"),
        commands=table.templates("commands"),
        automatic=automatic,
    )
    for command in remedy.commands:
        for name in placeholders.unquoted(command):
            table.fail(f"{{{name}}} stands outside double quotes: {command}")
    table.end()
    return remedy


def _action(table: Table) -> Action:
    name = table.choice("name", ACTIONS)
    action = Action(name=name, arguments=table.arguments("arguments"))
    table.end()
    if action.arguments.keys() != ACTIONS[name]:
        wanted = ", ".join(sorted(ACTIONS[name])) or "none"
        table.fail(f"arguments of {name} must be: {wanted}")
    return action


def _check_explains(entries: Mapping[str, Entry], origin: Mapping[str, str]) -> None:
    for entry in entries.values():
        for other in entry.explains:
            if other not in entries:
                raise CatalogueError(
                    f"{origin[entry.id]}: {entry.id}: explains an unknown id {other!r}"
                )
    try:
        TopologicalSorter({entry.id: entry.explains for entry in entries.values()}).prepare()
    except CycleError as error:
        circle = error.args[1]
        raise CatalogueError(
            f"{origin[circle[0]]}: explains goes in a circle: {' -> '.join(circle)}"
        ) from None
