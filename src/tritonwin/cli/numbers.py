"""Numbers that options take, and what is said of everything else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # a subscript that older versions of click do not take
    Floats = click.ParamType[float]
    Integers = click.ParamType[int]
else:
    Floats = Integers = click.ParamType

_LEAST_ARCH, _MOST_ARCH = 50, 999  # compute capability 5.0 and what has three digits
_PLAIN = re.compile(r"[+-]?\d{1,15}(\.\d{0,15})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,15}", re.ASCII)
# what people copy: 8.9 from NVIDIA's tables, sm_89 from messages of compilers
_ARCH = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)", re.ASCII)


class Number(Floats):
    """A number between two bounds, in plain decimals, with the unit that it is counted in.

    Attributes:
        example: a sensible value, for the message.
    """

    name = "number"

    def __init__(
        self, low: float, high: float, *, unit: str, example: str, whole: bool = False
    ) -> None:
        self._low, self._high = low, high
        self._unit, self._example = unit, example
        self._form = _WHOLE if whole else _PLAIN
        self._make: type[int] | type[float] = int if whole else float

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number.

        Raises:
            click.BadParameter: another word, or out of bounds.
        """
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return] # a default, or what was read before
        text = value.strip()
        number = self._make(text) if self._form.fullmatch(text) else None
        if number is None or not self._low <= number <= self._high:
            whole = "a whole number of " if self._make is int else "a number of "
            self.fail(
                f"{value!r} cannot be used: it takes {whole}{self._unit} from {self._low:g} to"
                f" {self._high:g}, such as {self._example}",
                param,
                ctx,
            )
        return number


class Arch(Integers):
    """A compute capability: 89, 8.9 or sm_89, as the number 89."""

    name = "arch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The compute capability without its point.

        Raises:
            click.BadParameter: another word, or of no GPU that CUDA knows.
        """
        found = _ARCH.fullmatch(str(value).strip().lower())
        number = int(found[1] + found[2]) if found else 0
        if not _LEAST_ARCH <= number <= _MOST_ARCH:
            self.fail(
                f"{value!r} cannot be used: it takes the compute capability of a GPU from 5.0 on,"
                " such as 89, 8.9 or sm_89",
                param,
                ctx,
            )
        return number
