"""Read the catalogue's TOML strictly: a slip in it is found by a test, not by a user."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import NoReturn, TypeVar

from tritonwin.problems import placeholders
from tritonwin.problems.model import LAYERS, SEVERITIES, Action, Entry, Remedy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

# The remedies that an entry may name, each with the arguments that it takes.
ACTIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(arguments)
    for name, arguments in {
        "install-distribution": ("requirement",),
        "install-torch": ("requirement", "cuda"),  # from torch's own index for that CUDA
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


class CatalogueError(ValueError):
    """A catalogue file is wrong; the message names the file and the id."""


class UnknownProblemError(KeyError):
    """The catalogue has no entry of that id."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message's repr


@dataclass(frozen=True)
class Catalogue:
    """All entries by id, those that others rest on first (the order of LAYERS)."""

    entries: Mapping[str, Entry]

    def entry(self, problem_id: str) -> Entry:
        """The entry of an id; raises UnknownProblemError."""
        try:
            return self.entries[problem_id]
        except KeyError:
            msg = f"the catalogue has no problem {problem_id!r}"
            raise UnknownProblemError(msg) from None


def read(sources: Mapping[str, str]) -> Catalogue:
    """Build the catalogue from the texts of its files, by file name.

    Raises:
        CatalogueError: anything that is not as the entries' model wants it.
    """
    entries: dict[str, Entry] = {}
    origin: dict[str, str] = {}
    for file, text in sources.items():
        for entry in _read_file(file, text):
            if entry.id in entries:
                msg = f"{file}: {entry.id}: this id is taken, see {origin[entry.id]}"
                raise CatalogueError(msg)
            entries[entry.id] = entry
            origin[entry.id] = file
    _check_explains(entries, origin)
    ordered = sorted(entries.values(), key=lambda entry: LAYERS.index(entry.layer))
    return Catalogue(MappingProxyType({entry.id: entry for entry in ordered}))


class _Table:
    """A TOML table whose keys are taken one by one; what is left at the end is unknown."""

    def __init__(self, data: object, where: str) -> None:
        self.where = where
        self._rest = dict(self._typed(data, dict, "entry"))

    def fail(self, what: str) -> NoReturn:
        msg = f"{self.where}: {what}"
        raise CatalogueError(msg)

    def _typed(self, value: object, kind: type[T], key: str) -> T:
        if not isinstance(value, kind):
            self.fail(f"{key} must be of type {kind.__name__}, not {value!r}")
        return value

    def take(self, key: str, kind: type[T], default: T | None = None) -> T:
        value = self._rest.pop(key, default)
        if value is None:
            self.fail(f"{key} is missing")
        return self._typed(value, kind, key)

    def text(self, key: str) -> str:
        """A text on one line, however it is broken in the file."""
        text = " ".join(self.take(key, str).split())
        if not text:
            self.fail(f"{key} is empty")
        return text

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if key in self._rest else None

    def template(self, key: str) -> str:
        text = self.text(key)
        self._check_placeholders(text)
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._typed(item, str, key) for item in self.take(key, list, []))

    def templates(self, key: str) -> tuple[str, ...]:
        for text in (texts := self.texts(key)):
            self._check_placeholders(text)
        return texts

    def choice(self, key: str, allowed: Iterable[T]) -> T:
        value = self.take(key, str)
        option = next((option for option in allowed if option == value), None)
        if option is None:
            self.fail(f"unknown {key} {value!r}")
        return option

    def arguments(self, key: str) -> dict[str, str]:
        table = _Table(self.take(key, dict, {}), self.where)
        return {name: table.template(name) for name in tuple(table._rest)}

    def tables(self, key: str) -> tuple[_Table, ...]:
        return tuple(_Table(item, self.where) for item in self.take(key, list, []))

    def end(self) -> None:
        if self._rest:
            self.fail(f"unknown key {min(self._rest)!r}")

    def _check_placeholders(self, text: str) -> None:
        try:
            tuple(placeholders.names(text))
        except ValueError as error:
            self.fail(str(error))


def _read_file(file: str, text: str) -> tuple[Entry, ...]:
    try:
        document = _Table(tomllib.loads(text), file)
    except tomllib.TOMLDecodeError as error:
        msg = f"{file}: {error}"
        raise CatalogueError(msg) from None
    entries = tuple(_entry(table, file) for table in document.tables("problem"))
    document.end()
    return entries


def _entry(table: _Table, file: str) -> Entry:
    problem_id = table.text("id")
    table.where = f"{file}: {problem_id}"
    actions = tuple(_action(item) for item in table.tables("actions"))
    entry = Entry(
        id=problem_id,
        title=table.text("title"),
        severity=table.choice("severity", SEVERITIES),
        layer=table.choice("layer", LAYERS),
        cause=table.template("cause"),
        remedy=_remedy(_Table(table.take("remedy", dict), table.where), automatic=bool(actions)),
        explains=table.texts("explains"),
        references=table.texts("references"),
        actions=actions,
        log_only=table.optional_text("log_only"),
    )
    table.end()
    return entry


def _remedy(table: _Table, *, automatic: bool) -> Remedy:
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


def _action(table: _Table) -> Action:
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
                msg = f"{origin[entry.id]}: {entry.id}: explains an unknown id {other!r}"
                raise CatalogueError(msg)
    try:
        TopologicalSorter({entry.id: entry.explains for entry in entries.values()}).prepare()
    except CycleError as error:
        circle = error.args[1]
        msg = f"{origin[circle[0]]}: explains goes in a circle: {' -> '.join(circle)}"
        raise CatalogueError(msg) from None
