"""Through ctypes: Python's own conversions of arguments, and functions of a driver's library."""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_api = ctypes.pythonapi


def _c_api(name: str, result: Any, *arguments: Any) -> Any:
    function = _api[name]  # not the attribute, whose types others may set
    function.restype = result
    if arguments:
        function.argtypes = arguments
    return function


_parse_tuple = _c_api("PyArg_ParseTuple", ctypes.c_int)
as_address = _c_api("PyLong_AsUnsignedLongLong", ctypes.c_uint64, ctypes.py_object)
as_long = _c_api("PyLong_AsLong", ctypes.c_long, ctypes.py_object)
as_long_long = _c_api("PyLong_AsLongLong", ctypes.c_longlong, ctypes.py_object)
as_unsigned_long = _c_api("PyLong_AsUnsignedLong", ctypes.c_ulong, ctypes.py_object)
as_double = _c_api("PyFloat_AsDouble", ctypes.c_double, ctypes.py_object)
_CELLS: dict[str, Any] = {
    "i": ctypes.c_int, "p": ctypes.c_int, "K": ctypes.c_uint64, "O": ctypes.py_object,
    "b": ctypes.c_ubyte, "h": ctypes.c_short, "l": ctypes.c_long, "L": ctypes.c_longlong,
    "B": ctypes.c_ubyte, "H": ctypes.c_ushort, "I": ctypes.c_uint, "d": ctypes.c_double,
    "f": ctypes.c_float, "s": ctypes.c_char_p,
}  # fmt: skip


def parse(form: str, arguments: tuple[Any, ...]) -> list[Any]:
    """The values that PyArg_ParseTuple makes of arguments, in one row.

    Raises:
        TypeError, OverflowError: Python's own.
    """
    if ctypes.sizeof(ctypes.c_long) == 4:
        form = form.replace("l", "L")  # a 64-bit argument, also where a long has 32 bits
    cells = [_CELLS[letter]() for letter in form if letter not in "()"]
    places = [ctypes.byref(cell) for cell in cells]
    _parse_tuple(ctypes.py_object(arguments), form.encode(), *places)
    return [cell.value for cell in cells]


class Api:
    """Functions of a driver's library, looked up once. A class below has their signatures.

    Args:
        library: its name, or path.
        winmode: where Windows looks for it.

    Attributes:
        lacks: the message for a function that the library lacks.

    Raises:
        RuntimeError: it cannot be loaded.
    """

    signatures: dict[str, Sequence[Any]]
    lacks: str

    def __init__(self, library: str, winmode: int) -> None:
        try:
            self._library: Any = ctypes.CDLL(library, winmode=winmode if os.name == "nt" else None)
        except OSError as error:
            raise RuntimeError(f"Failed to open {library}: {error}") from None
        self._functions: dict[str, Any] = {}

    def named(self, name: str) -> Any:
        """A function.

        Raises:
            RuntimeError: the library lacks it.
        """
        if name not in self._functions:
            try:
                function = self._library[name]
            except AttributeError:
                raise RuntimeError(self.lacks.format(name)) from None
            function.argtypes = self.signatures.get(name)
            self._functions[name] = function
        return self._functions[name]

    def status(self, name: str, *arguments: Any) -> int:
        """Call a function; the number of its error, 0 where there is none."""
        result: int = self.named(name)(*arguments)
        return result

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            RuntimeError: it failed.
        """
        self.check(self.status(name, *arguments))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.failure(status))

    def failure(self, status: int) -> str:
        """The text of an error, as Triton's compiled module has it."""
        raise NotImplementedError

    def integer(self, name: str, *arguments: Any, cell: Any = ctypes.c_int) -> int:
        """The number that a function writes where its first argument points to."""
        value = cell()
        self(name, ctypes.byref(value), *arguments)
        return value.value or 0
