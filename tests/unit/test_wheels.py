"""File names of real public wheels, and what they say."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("local", "backend"), [("cpu", "cpu"), ("xpu", "xpu"), ("rocm6.4", "rocm"), ("cu128", None)]
)
def test_backends_of_torch(local: str, backend: str | None) -> None:
    assert wheels.read_local(local).backend == backend


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cu118torch28", "2.8"),
        ("cu118torch210", "2.1.0"),  # torch 2.1 was built for CUDA 11.8
        ("cu130torch210", "2.10"),  # and never for 13.0
        ("cu13torch210", "2.10"),
        ("cu128torch2101", "2.10.1"),
        ("cu121torch_2.5.1", "2.5.1"),
        ("torch2", "2"),
    ],
)
def test_torch_without_dots(text: str, version: str) -> None:
    assert wheels.read_local(text).torch == version


@pytest.mark.parametrize(
    "name",
    [
        "",
        "torch",
        "https://[",
        "torch-2.9.1.tar.gz",
        "a-b-c.whl",
        "flash_attn-x-cp312-cp312-win_amd64.whl",
    ],
)
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


def python(version: str, platform: str = "win_amd64", threads: bool = False) -> Interpreter:
    return Interpreter(
        executable="python.exe",
        source="test",
        kind="embedded",
        version=version,
        platform_tag=platform,
        free_threaded=threads,
    )


@pytest.mark.parametrize(
    ("tag", "target", "reason"),
    [
        ("cp312-cp312-win_amd64", python("3.12.9"), None),
        ("cp39-abi3-win_amd64", python("3.13.1"), None),
        ("py3-none-win_amd64", python("3.13.1"), None),
        ("py39-none-win_amd64", python("3.13.1"), None),
        ("py3-none-any", python("3.13.1"), None),
        ("cp311-cp311-win_amd64", python("3.13.1"), "made for cp311, this Python is cp313"),
        ("cp314-abi3-win_amd64", python("3.13.1"), "made for cp314 or later, this Python is cp313"),
        ("cp313-cp313t-win_amd64", python("3.13.1"), "made for cp313t, this Python is cp313"),
        ("cp313-cp313-win_amd64", python("3.13.1", threads=True), "made for cp313, this Python is cp313t"),
        ("cp310-abi3-win_amd64", python("3.13.1", threads=True), "made for cp310 or later, this Python is cp313t"),
        ("cp312-cp312-win_arm64", python("3.12.9"), "made for win_arm64, this Python is win_amd64"),
        ("cp312-cp312-manylinux_2_28_x86_64", python("3.12.9"), "made for manylinux_2_28_x86_64, this Python is win_amd64"),
        ("cp312-cp312-win_amd64", python(""), "the tags that this Python loads are not known"),
    ],
)  # fmt: skip
def test_tags(tag: str, target: Interpreter, reason: str | None) -> None:
    name = wheels.read(f"p-1-{tag}.whl")
    assert wheels.tag_misfit(name.tags, wheels.supported_tags(target)) == reason


def test_own_abi_ranks_before_the_stable_one() -> None:
    target = wheels.supported_tags(python("3.12.9"))
    own = wheels.tag_rank(wheels.read("p-1-cp312-cp312-win_amd64.whl").tags, target)
    stable = wheels.tag_rank(wheels.read("p-1-cp39-abi3-win_amd64.whl").tags, target)
    assert own == 0 < stable


@pytest.mark.parametrize(
    ("local", "torch", "cuda", "reason"),
    [
        ("cu128torch2.8.0", "2.8.1+cu126", "12.6", None),
        ("cu128torch280", "2.9.1+cu128", "12.8", "needs torch 2.8, this is torch 2.9"),
        ("cu130torch2.9.0andhigher.post4", "2.12.0", "13.2", None),
        ("cu130torch2.10.0andhigher", "2.9.1", "13.0", "needs torch 2.10 or later, this is torch 2.9"),
        ("cu130torch2.9.0andhigher", "2.9.1", "12.8", "needs CUDA 13, this torch is built for CUDA 12"),
        ("cu12torch2.9", "2.9.1+cu130", "13.0", "needs CUDA 12, this torch is built for CUDA 13"),
        ("cu128torch2.8.0", "2.8.0+cpu", None, None),  # cpu-only-torch says it
        ("0ccb2bb6", "2.8.0", "12.8", None),
        ("", "nonsense", None, None),
    ],
)  # fmt: skip
def test_torch_that_an_extension_loads_into(
    local: str, torch: str, cuda: str | None, reason: str | None
) -> None:
    assert wheels.torch_misfit(wheels.read_local(local), torch, cuda) == reason
