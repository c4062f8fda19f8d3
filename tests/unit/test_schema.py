"""The JSON schemas of the documents: they accept what is written, and refuse what the reader refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from jsonschema import Draft202012Validator
from schemas import validator

from tritonwin.output import schema
from tritonwin.output.matrix import MatrixReport
from tritonwin.support import matrix
from tritonwin.system.codec import DecodeError, fields_of, from_json, to_json


def example(hint: Any, *, whole: bool) -> Any:
    """A value of the type; where whole, with every optional field and every member of a union."""
    inner = get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint(
            **{
                name: example(field, whole=whole)
                for name, field, required in fields_of(hint)
                if whole or required
            }
        )
    if get_origin(hint) is Literal:
        return inner[0]
    if get_origin(hint) is tuple:
        members = get_args(inner[0]) or inner[:1]
        kinds = members if get_origin(inner[0]) in (Union, UnionType) else inner[:1]
        return tuple(example(kind, whole=whole) for kind in kinds if whole)
    if get_origin(hint) in (dict, Mapping):
        return {"key": example(inner[1], whole=True)} if whole else {}
    if inner:
        return example(inner[0], whole=whole) if whole or type(None) not in inner else None
    return hint("1")


WHOLE: dict[str, Any] = {name: example(kind, whole=True) for name, kind in schema.DOCUMENTS.items()}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_schema_accepts_the_document_and_names_it(name: str, whole: bool) -> None:
    Draft202012Validator.check_schema(schema.load(name))
    document = example(schema.DOCUMENTS[name], whole=whole)
    tree: Any = to_json(document)
    assert tree["schema"] == name
    validator(name).validate(tree)
    validator(name).validate({**tree, "later": 1})
    assert from_json(schema.DOCUMENTS[name], tree) == document


def test_the_matrix_as_it_is_follows_its_schema() -> None:
    report = MatrixReport(matrix=matrix.load())
    validator("tritonwin.matrix/1").validate(to_json(report))


def test_the_schema_of_a_snapshot_refers_to_that_of_the_facts() -> None:
    facts: Any = schema.load("tritonwin.facts/1")
    snapshot: Any = schema.load("tritonwin.snapshot/1")
    assert snapshot["properties"]["facts"] == {"$ref": facts["$id"]}
    assert "System" not in snapshot["$defs"]


def _change(tree: Any, path: str, value: object) -> Any:
    head, _, rest = path.partition(".")
    if not rest:
        return {**tree, head: value}
    return {**tree, head: _change(tree[head], rest, value)}


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("tritonwin.facts/1", "schema", "tritonwin.facts/2"),
        ("tritonwin.facts/1", "system.os", "beos"),
        ("tritonwin.facts/1", "system.long_paths", 1),
        ("tritonwin.facts/1", "system.sources", {"os": 1}),
        ("tritonwin.facts/1", "gpus", {}),
        ("tritonwin.facts/1", "gpus", [{"index": "0"}]),
        ("tritonwin.snapshot/1", "facts.system", None),
        ("tritonwin.doctor/1", "problems", [{"id": "x"}]),
        ("tritonwin.doctor/1", "target.kind", "homemade"),
        ("tritonwin.rungs/1", "rungs", [{"id": "x"}]),
    ],
)
def test_schema_and_reader_refuse_the_same(name: str, path: str, value: object) -> None:
    tree = _change(to_json(WHOLE[name]), path, value)
    assert not validator(name).is_valid(tree)
    with pytest.raises(DecodeError):
        from_json(schema.DOCUMENTS[name], tree)


def test_unknown_kind_is_told_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"tritonwin\.doctor/1"):
        schema.load("tritonwin.nothing/1")
