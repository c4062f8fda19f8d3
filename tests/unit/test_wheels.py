"""File names of real public wheels, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.facts.records import Interpreter
from tritonwin.support import wheels
from tritonwin.support.wheels import BuiltFor, WheelNameError


@pytest.mark.parametrize(("file", "torch", "cuda"), cases("wheel_names.toml", "real"))
def test_real_names(file: str, torch: str, cuda: str) -> None:
    name = wheels.read(f"https://example.org/a%20b/{file}?download=true")
    assert (name.built_for.torch or "", name.built_for.cuda or "") == (torch, cuda)
    assert "%" not in name.file
    assert not name.built_for.newer_torch
    assert name.built_for.backend is None


def test_stable_abi_says_and_higher() -> None:
    name = wheels.read(
        r"C:\wheels\sageattention-2.2.0+cu130torch2.9.0andhigher.post4-cp39-abi3-win_amd64.whl"
    )
    assert name.distribution == "sageattention"
    assert name.built_for == BuiltFor(torch="2.9.0", cuda="13.0", newer_torch=True)


@pytest.mark.parametrize(("local", "field", "value"), cases("wheel_names.toml", "local"))
def test_local_versions(local: str, field: str, value: str) -> None:
    assert (getattr(wheels.read_local(local), field) or "") == value


@pytest.mark.parametrize("name", cases("wheel_names.toml", "none"))
def test_no_wheel(name: str) -> None:
    with pytest.raises(WheelNameError):
        wheels.read(name)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    wheels.read_local(text)
    try:
        wheels.read(text)
    except WheelNameError:
        pass


@given(
    torch=st.tuples(st.integers(1, 3), st.integers(0, 40), st.integers(0, 9)),
    cuda=st.tuples(st.integers(11, 14), st.integers(0, 9)),
    dotted=st.booleans(),
    higher=st.booleans(),
    before=st.sampled_from(["", "d20260121.", "20260318.", "d20260121"]),
    after=st.sampled_from(["", ".post4", "cxx11abiTRUE", "cxx11abi0.8afc61"]),
)
def test_what_is_written_is_read(
    torch: tuple[int, int, int],
    cuda: tuple[int, int],
    dotted: bool,
    higher: bool,
    before: str,
    after: str,
) -> None:
    torch_text = ".".join(map(str, torch))
    written = torch_text if dotted else torch_text.replace(".", "")
    local = f"{before}cu{cuda[0]}{cuda[1]}torch{written}{'andhigher' * higher}{after}"
    read = wheels.read_local(local)
    assert read.cuda == f"{cuda[0]}.{cuda[1]}"
    assert read.newer_torch is higher
    if dotted or torch[1] != 1:
        assert read.torch == torch_text


def python(version: str, **more: Any) -> Interpreter:
    known = {"kind": "embedded", "platform_tag": "win_amd64", **more}
    return Interpreter(executable="python.exe", source="test", version=version, **known)


@pytest.mark.parametrize(("tag", "target", "reason"), cases("wheel_names.toml", "tags"))
def test_tags(tag: str, target: dict[str, Any], reason: str) -> None:
    name = wheels.read(f"p-1-{tag}.whl")
    known = wheels.supported_tags(python(**target))
    assert (wheels.tag_misfit(name.tags, known) or "") == reason


def test_own_abi_ranks_before_the_stable_one() -> None:
    target = wheels.supported_tags(python("3.12.9"))
    own = wheels.tag_rank(wheels.read("p-1-cp312-cp312-win_amd64.whl").tags, target)
    stable = wheels.tag_rank(wheels.read("p-1-cp39-abi3-win_amd64.whl").tags, target)
    assert own == 0 < stable


@pytest.mark.parametrize(
    ("local", "torch", "cuda", "reason"), cases("wheel_names.toml", "loads_into")
)
def test_torch_that_an_extension_loads_into(local: str, torch: str, cuda: str, reason: str) -> None:
    found = wheels.torch_misfit(wheels.read_local(local), torch, cuda or None)
    assert (found or "") == reason
