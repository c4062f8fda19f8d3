"""JSON Schemas of the documents, made from the records' type hints when somebody asks for one.

`tritonwin --json-schema NAME` prints one; programs in Python call `load`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tritonwin import output
from tritonwin.facts.records import Facts
from tritonwin.facts.snapshot import Snapshot
from tritonwin.output.changes import EventLine
from tritonwin.output.documents import Document
from tritonwin.system.codec import SCALARS, Json, fields_of

_OTHERS = ((kind.schema, kind) for kind in (EventLine, Facts, Snapshot))


def _documents(kind: type[Document]) -> Iterator[tuple[str, type[Document]]]:
    """Name and record of every document below that one."""
    for each in kind.__subclasses__():
        if name := getattr(each, "schema", None):
            yield name, each
        yield from _documents(each)


for _module in iter_modules(output.__path__):
    import_module(f"{output.__name__}.{_module.name}")
DOCUMENTS: Mapping[str, type] = MappingProxyType(dict(sorted([*_documents(Document), *_OTHERS])))


def load(name: str) -> dict[str, Json]:
    """The schema of the document kind `name`, such as "tritonwin.doctor/1".

    Raises:
        KeyError: no such kind; the message lists those that exist.
    """
    if name not in DOCUMENTS:
        raise KeyError(f"no schema named {name}; there are {', '.join(DOCUMENTS)}")
    return schema(DOCUMENTS[name], _identifier(name), name)


def _identifier(name: str) -> str:
    kind, _, version = name.removeprefix("tritonwin.").partition("/")
    return f"urn:tritonwin:{kind}:{version}"


_REFERENCES: dict[Any, str] = {cls: _identifier(name) for name, cls in DOCUMENTS.items()}


def schema(cls: type, identifier: str, title: str) -> dict[str, Json]:
    """The JSON Schema (2020-12) of what `codec.from_json(cls, ...)` accepts.

    Unknown fields are allowed, for the reader ignores them too. A document inside another is
    referred to by its identifier: a snapshot's schema names that of the facts.
    """
    inner: dict[str, Json] = {}
    whole = _record(cls, inner)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identifier,
        "title": title,
        **whole,
        "$defs": dict(sorted(inner.items())),
    }


def _record(cls: Any, inner: dict[str, Json]) -> dict[str, Json]:
    """The schema of a record; those of the records in it go into `inner`."""
    fields = fields_of(cls)
    described: dict[str, Json] = {}
    # a dataclass without a docstring gets its signature as one
    if cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}("):
        described["description"] = " ".join(cls.__doc__.split("\n\n", 1)[0].split())
    return {
        **described,
        "type": "object",
        "properties": {name: _hint(hint, inner) for name, hint, _ in fields},
        "required": [name for name, _, required in fields if required],
    }


def _hint(hint: Any, inner: dict[str, Json]) -> dict[str, Json]:
    if hint in SCALARS:
        return {"type": SCALARS[hint][1]}
    if dataclasses.is_dataclass(hint):
        if hint in _REFERENCES:
            return {"$ref": _REFERENCES[hint]}
        name = getattr(hint, "__name__", "")
        if name not in inner:
            inner[name] = _record(hint, inner)
        return {"$ref": f"#/$defs/{name}"}
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"const": args[0]} if len(args) == 1 else {"enum": list(args)}
    if origin in (Union, UnionType):
        return {"anyOf": [_hint(a, inner) for a in args]}
    if origin is tuple:
        return {"type": "array", "items": _hint(args[0], inner)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _hint(args[1], inner)}
    raise TypeError(f"no JSON Schema for {hint!r}")
