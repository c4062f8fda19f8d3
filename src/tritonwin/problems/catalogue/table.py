"""A TOML table read strictly: every key is asked for once, and what nobody asks for is a slip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, TypeVar

from tritonwin.problems import placeholders

T = TypeVar("T")


class CatalogueError(ValueError):
    """A catalogue file is wrong; the message names the file and the id."""


class Table:
    """A TOML table whose keys are taken one by one; what is left at the end is unknown."""

    def __init__(self, data: object, where: str) -> None:
        self.where = where
        self._rest = dict(self._typed(data, dict, "entry"))

    def fail(self, what: str) -> NoReturn:
        raise CatalogueError(f"{self.where}: {what}")

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
        known = tuple(allowed)
        option = next((option for option in known if option == value), None)
        if option is None:
            self.fail(f"unknown {key} {value!r}, there are {', '.join(map(str, known))}")
        return option

    def one_or_more(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts; nothing where the key is absent."""
        value = self._rest.pop(key, [])
        return tuple(
            self._typed(item, str, key) for item in (value if isinstance(value, list) else [value])
        )

    def names(self) -> tuple[str, ...]:
        return tuple(self._rest)

    def arguments(self, key: str) -> dict[str, str]:
        table = Table(self.take(key, dict, {}), self.where)
        return {name: table.template(name) for name in table.names()}

    def tables(self, key: str) -> tuple[Table, ...]:
        return tuple(Table(item, self.where) for item in self.take(key, list, []))

    def optional_table(self, key: str) -> tuple[Table, ...]:
        return (Table(self.take(key, dict), self.where),) if key in self._rest else ()

    def named_tables(self, key: str) -> dict[str, Table]:
        found = self.take(key, dict, {})
        return {name: Table(item, f"{self.where}: {name}") for name, item in found.items()}

    def end(self) -> None:
        if self._rest:
            self.fail(f"unknown key {min(self._rest)!r}")

    def _check_placeholders(self, text: str) -> None:
        try:
            tuple(placeholders.names(text))
        except ValueError as error:
            self.fail(str(error))
