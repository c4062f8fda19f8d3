from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonwin.facts.records import Facts, Gpu, System
from tritonwin.system.codec import DecodeError, from_json, from_valid, map_text, parse, to_json


@dataclass(frozen=True, kw_only=True)
class Part:
    index: int
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    tag: Literal["sample/1"] = "sample/1"
    kind: Literal["big", "small"]
    ratio: float = 0.0
    flag: bool | None = None
    either: int | str = 0
    parts: tuple[Part, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


GOOD: dict[str, Any] = {"tag": "sample/1", "kind": "big"}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
parts = st.builds(Part, index=st.integers(-(2**63), 2**63 - 1), name=st.none() | texts)
samples = st.builds(
    Sample,
    kind=st.sampled_from(["big", "small"]),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.none() | st.booleans(),
    either=st.integers(-(2**63), 2**63 - 1) | texts,
    parts=st.lists(parts, max_size=3).map(tuple),
    names=st.dictionaries(texts, texts, max_size=3),
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(samples)
def test_what_is_written_is_read_back(sample: Sample) -> None:
    tree = parse(json.dumps(to_json(sample)))
    assert from_json(Sample, tree, strict=True) == from_valid(Sample, tree) == sample


@settings(deadline=None)
@given(trees, st.sampled_from(["tag", "kind", "ratio", "flag", "either", "parts", "names"]))
def test_any_tree_is_read_or_refused_with_its_place(tree: Any, name: str) -> None:
    try:
        found: Sample | None = from_json(Sample, {**GOOD, name: tree})
        place = ""
    except DecodeError as error:
        found, place = None, error.where
    assert place.startswith(f"sample.{name}") or from_json(Sample, to_json(found)) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "huge"}, 'sample.kind: expected one of "big", "small", got "huge"'),
        ({"tag": "sample/2"}, 'sample.tag: expected "sample/1", got "sample/2"'),
        ({"ratio": True}, "sample.ratio: expected a number, got true"),
        ({"ratio": float("inf")}, "sample.ratio: not a finite number"),
        ({"either": 2**63}, "sample.either: expected a whole number or text, got 9223"),
        ({"parts": [{"index": -(2**63) - 1}]}, "sample.parts[0].index: number too large"),
        ({"flag": 1}, "sample.flag: expected true or false, got 1"),
        ({"either": 1.5}, "sample.either: expected a whole number or text, got 1.5"),
        ({"parts": {}}, "sample.parts: expected a list, got an object"),
        ({"parts": [{"index": 1}, {}]}, "sample.parts[1].index: missing"),
        ({"parts": [{"index": "x"}]}, 'sample.parts[0].index: expected a whole number, got "x"'),
        ({"parts": [{"index": True}]}, "sample.parts[0].index: expected a whole number, got true"),
        ({"parts": [{"index": 1.0}]}, "sample.parts[0].index: expected a whole number, got 1.0"),
        ({"parts": [3]}, "sample.parts[0]: expected an object, got 3"),
        ({"names": []}, "sample.names: expected an object, got a list"),
        ({"names": {"a": None}}, 'sample.names["a"]: expected text, got null'),
        ({"either": "\ud800"}, "sample.either: expected a whole number or text, got"),
        ({"names": {"a": "\ud800"}}, 'sample.names["a"]: text with half a character'),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        from_json(Sample, {**GOOD, **change})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("missing", ["tag", "kind"])
def test_tag_and_fields_without_default_must_be_there(missing: str) -> None:
    tree = {k: v for k, v in GOOD.items() if k != missing}
    with pytest.raises(DecodeError, match=rf"^sample\.{missing}: missing$"):
        from_json(Sample, tree)


def test_unknown_fields_are_ignored_and_defaults_filled_in() -> None:
    assert from_json(Sample, {**GOOD, "later": {"deep": [1]}}) == Sample(kind="big")


@pytest.mark.parametrize(
    ("change", "place"),
    [({"later": 1}, "sample.later"), ({"parts": [{"index": 1, "nam": ""}]}, "sample.parts[0].nam")],
)
def test_strict_reading_refuses_unknown_fields(change: dict[str, Any], place: str) -> None:
    with pytest.raises(DecodeError, match="unknown; the fields are") as caught:
        from_json(Sample, {**GOOD, **change}, strict=True)
    assert caught.value.where == place


def test_a_whole_number_serves_as_a_number() -> None:
    found = from_json(Sample, {**GOOD, "ratio": 2}).ratio
    assert (found, type(found)) == (2.0, float)


@pytest.mark.parametrize("text", ["9" * 1_000_000, "[" * 100_000, '{"a":' * 100_000])
def test_what_python_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match=r"^document: "):
        parse(text)


def test_half_a_character_is_repaired_when_written() -> None:
    assert to_json("a\udc80\ud83d\ude00") == "a\ufffd\U0001f600"


@pytest.mark.parametrize(
    ("value", "error"), [(float("nan"), ValueError), ({1, 2}, TypeError), (Sample, TypeError)]
)
def test_what_json_cannot_hold_is_not_written(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        to_json(value)


def test_text_is_mapped_but_fixed_words_are_not() -> None:
    facts = Facts(
        tool_version="windows",
        system=System(os="windows", version="windows", machine="x", sources={"os": "windows"}),
        gpus=(Gpu(index=0, vendor="other", name="windows", source="x"),),
    )
    mapped = map_text(facts, lambda text: text.replace("windows", "<host>"))
    assert mapped.tool_version == mapped.system.version == mapped.gpus[0].name == "<host>"
    assert mapped.system.sources == {"os": "<host>"}
    keys = map_text(facts, lambda text: text.replace("os", "<x>"), keys=True).system.sources
    assert keys == {"<x>": "windows"}
    assert mapped.system.os == "windows"
    assert from_json(Facts, to_json(mapped)) == mapped
