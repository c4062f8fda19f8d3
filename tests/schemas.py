"""The schemas of our documents, with those that they refer to."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry

from tritonwin.output import schema


def validator(name: str) -> Draft202012Validator:
    every: list[Any] = [schema.load(kind) for kind in schema.DOCUMENTS]
    registry: Any = Registry().with_contents((one["$id"], one) for one in every)
    loaded: Any = schema.load(name)
    return Draft202012Validator(loaded, registry=registry)
