"""Records to JSON and JSON to records, by the type hints of the record.

A record is a frozen dataclass built of text, numbers, booleans, `None`, `Literal`,
`tuple[X, ...]`, `dict[str, X]`, other records and unions of these. `from_json` checks every value
but ignores unknown fields, so that a file written by a later version, which may only add, can
still be read; with `strict` an unknown field is an error. `from_valid` checks nothing: it is for
data that was checked before, such as the files that the package ships.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")

_MAX_WHOLE = 2**63  # what every JSON reader can hold
_HALF = re.compile("[\ud800-\udfff]")
_DOCUMENT = "document"  # the place of an error in the text as a whole

# type -> its name for people, its name in JSON Schema
SCALARS: dict[Any, tuple[str, str]] = {
    str: ("text", "string"),
    bool: ("true or false", "boolean"),
    int: ("a whole number", "integer"),
    float: ("a number", "number"),
    type(None): ("null", "null"),
}


class DecodeError(ValueError):
    """Data that is not what the record wants; the message starts with the place."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where


def parse(text: str) -> Json:
    """Parse JSON.

    Raises:
        json.JSONDecodeError: not JSON; it knows line, column and position.
        DecodeError: JSON that Python does not read: nested too deeply, or with endless numbers.
    """
    try:
        tree: Json = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise DecodeError(_DOCUMENT, "nested too deeply") from None
    except ValueError as error:
        raise DecodeError(_DOCUMENT, str(error)) from None
    return tree


def to_json(value: object) -> Json:
    """The record as a tree for `json.dumps`, fields in the order of their declaration.

    Text that no encoding can write (a file name with half a character) is repaired with U+FFFD.

    Raises:
        TypeError: a value that is not made of the kinds listed above.
        ValueError: NaN or an infinite number.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return (
            value
            if value.isascii()
            else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"not a finite number: {value}")
        return value
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(to_json(str(key))): to_json(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")


def from_json(cls: type[T], tree: Json, where: str | None = None, *, strict: bool = False) -> T:
    """The record `cls` from a tree; `where` names the tree in messages (default: the class).

    Args:
        strict: an unknown field is an error, not ignored.

    Raises:
        DecodeError: "facts.gpus[2].index: expected a whole number, got \"x\"".
    """
    record: T = _decode(cls, tree, cls.__name__.lower() if where is None else where, strict)
    return record


def from_valid(cls: type[T], tree: Json) -> T:
    """The record `cls` from a tree that is known to be valid, at about one call a record."""
    hint: Any = cls
    convert = _converter(hint) or _same
    record: T = convert(tree)
    return record


def _same(tree: Any) -> Any:
    return tree


@cache
def _converter(hint: Any) -> Callable[[Any], Any] | None:
    """A function from a valid tree to the value; None where the tree is the value."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is float:
        return float
    if dataclasses.is_dataclass(hint):
        cls: Any = hint
        pairs = ((name, _converter(inner)) for name, inner, _ in fields_of(cls))
        inside = {name: convert for name, convert in pairs if convert}

        def record(tree: Any) -> Any:
            values = {}
            for key, value in tree.items():  # no comprehension: it would be a call for each record
                convert = inside.get(key)
                values[key] = value if convert is None else convert(value)
            return cls(**values)

        return record
    if origin in (Union, UnionType):
        # the form of the tree, a list or an object, tells the kind
        forms: dict[type, Callable[[Any], Any]] = {}
        for kind in args:
            form = list if get_origin(kind) is tuple else int if kind is float else dict
            convert = _converter(kind)
            if convert:
                forms[form] = convert

        def one_of(tree: Any) -> Any:
            return forms.get(type(tree), _same)(tree)

        return one_of if forms else None
    each = _converter(args[-1] if origin is dict else args[0]) if origin in (dict, tuple) else None
    if origin is dict and each:
        return lambda tree: {key: each(value) for key, value in tree.items()}
    if origin is tuple:
        return (lambda tree: tuple(map(each, tree))) if each else tuple
    return None


def _decode(hint: Any, tree: Json, where: str, strict: bool) -> Any:
    if hint in SCALARS:
        return _scalar(hint, tree, where)
    if dataclasses.is_dataclass(hint):
        return _record(hint, tree, where, strict)
    origin, args = _parts(hint)
    if origin is Literal:
        if any(type(tree) is type(known) and tree == known for known in args):
            return tree
    elif origin in (Union, UnionType):
        return _union(hint, tree, where, strict)
    elif origin is tuple:
        if isinstance(tree, list):
            each = args[0]
            return tuple([_decode(each, x, f"{where}[{n}]", strict) for n, x in enumerate(tree)])
    elif origin is dict:
        if isinstance(tree, dict):
            return {
                _scalar(str, key, where): _decode(args[1], x, f"{where}[{_quoted(key)}]", strict)
                for key, x in tree.items()
            }
    else:
        raise TypeError(f"no JSON form for {hint!r}")
    raise _unexpected(hint, tree, where)


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Origin and arguments of a hint; cached, for they are asked for every value of a file."""
    return get_origin(hint), get_args(hint)


def _scalar(hint: type, tree: Json, where: str) -> Json:
    if hint is float and type(tree) is int:
        return float(tree)
    if type(tree) is not hint:  # not isinstance: True is an int to Python
        raise _unexpected(hint, tree, where)
    if isinstance(tree, float) and not math.isfinite(tree):
        raise DecodeError(where, "not a finite number")
    if isinstance(tree, int) and not -_MAX_WHOLE <= tree < _MAX_WHOLE:
        raise DecodeError(where, "number too large")
    if isinstance(tree, str) and not tree.isascii() and _HALF.search(tree):
        raise DecodeError(where, "text with half a character (a lone surrogate)")
    return tree


def _union(hint: Any, tree: Json, where: str, strict: bool) -> Any:
    options = [option for option in _parts(hint)[1] if option is not type(None)]
    if tree is None and len(options) < len(_parts(hint)[1]):
        return None
    if len(options) == 1:  # the error of the only option says more than "none fits"
        return _decode(options[0], tree, where, strict)
    for option in options:
        with contextlib.suppress(DecodeError):
            return _decode(option, tree, where, strict)
    raise _unexpected(hint, tree, where)


def _record(cls: Any, tree: Json, where: str, strict: bool) -> Any:
    if not isinstance(tree, dict):
        raise _unexpected(cls, tree, where)
    values: dict[str, Any] = {}
    for name, hint, required in fields_of(cls):
        if name in tree:
            values[name] = _decode(hint, tree[name], f"{where}.{name}", strict)
        elif required:
            raise DecodeError(f"{where}.{name}", "missing")
    if strict and len(values) < len(tree):
        unknown = next(name for name in tree if name not in values)
        known = ", ".join(name for name, _, _ in fields_of(cls))
        raise DecodeError(f"{where}.{unknown}", f"unknown; the fields are {known}")
    return cls(**values)


@cache
def fields_of(cls: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Name, type and whether it must be there. A constant is a tag: it must be, default or not."""
    hints = get_type_hints(cls)
    missing = dataclasses.MISSING
    found = []
    for field in dataclasses.fields(cls):
        if field.init:
            hint = hints[field.name]
            tag = get_origin(hint) is Literal and len(get_args(hint)) == 1
            bare = field.default is missing and field.default_factory is missing
            found.append((field.name, hint, tag or bare))
    return tuple(found)


def _unexpected(hint: Any, tree: Json, where: str) -> DecodeError:
    return DecodeError(where, f"expected {_words(hint)}, got {_quoted(tree)}")


def _words(hint: Any) -> str:
    if hint in SCALARS:
        return SCALARS[hint][0]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        values = ", ".join(json.dumps(a) for a in args)
        return values if len(args) == 1 else f"one of {values}"
    if origin in (Union, UnionType):
        return " or ".join(_words(a) for a in args)
    return "a list" if origin is tuple else "an object"


def _quoted(tree: Json) -> str:
    if isinstance(tree, (list, dict)):
        return "a list" if isinstance(tree, list) else "an object"
    text = json.dumps(tree)
    return text if len(text) <= 40 else f"{text[:36]}..."


def map_text(record: T, change: Callable[[str], str], *, keys: bool = False) -> T:
    """The record with every free text changed; words fixed by a `Literal` and names stay.

    Args:
        keys: change those of dicts too, which then must not be names that something looks for.
    """

    def mapped(hint: Any, value: Any) -> Any:
        if hint is str:
            return change(value)
        if dataclasses.is_dataclass(hint):
            kind: Any = type(value)
            fields = fields_of(kind)
            changed = {name: mapped(inner, getattr(value, name)) for name, inner, _ in fields}
            return dataclasses.replace(value, **changed)
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            options = [h for h in args if h is not type(None)]
            fitting = next((h for h in options if h is type(value)), options[0])
            return None if value is None else mapped(fitting, value)
        if origin is tuple:
            return tuple(mapped(args[0], item) for item in value)
        if origin is dict:
            rename = change if keys else str
            return {rename(key): mapped(args[1], item) for key, item in value.items()}
        return value

    result: T = mapped(type(record), record)
    return result
