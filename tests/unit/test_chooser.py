"""The choice between wheels: why each was rejected, and what can never be chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from healthy import HEALTHY, dist, gpu
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from tritonwin.facts.records import Driver, Gpu, Torch
from tritonwin.support import chooser, matrix, packages, sources, versions, wheels
from tritonwin.support.chooser import Chosen, SetChooser, choose
from tritonwin.support.fitting import Needs, needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_files import CompiledModule, WheelContent

INDEX = "https://example.org/simple"
HASH = "0" * 64


def link(file: str, **more: Any) -> WheelLink:
    known = {"sha256": HASH, "source": "index", "index": INDEX, **more}
    return WheelLink(location=f"https://example.org/files/{file}", **known)


def torch(version: str, cuda: str | None) -> Torch:
    return Torch(version=version, location="torch", source="torch/version.py", cuda=cuda)


def needs(**changes: Any) -> Needs:
    return replace(needs_of(HEALTHY), **changes)


def pick(request: str, *files: str, **changes: Any) -> Chosen:
    return choose(Requirement(request), [link(f) for f in files], needs(**changes))


def reason(request: str, file: str, **changes: Any) -> str:
    """Everything that stands against this one wheel."""
    chosen = pick(request, file, **changes)
    assert chosen.link is None
    ((text, files),) = chosen.choice.grouped()
    assert files == (file,)
    return text


TW = "triton_windows-{}-cp312-cp312-win_amd64.whl"
TORCH = "torch-{}-cp312-cp312-win_amd64.whl"
PAIR = 'tritonwin install "torch==2.6.*" "triton-windows==3.2.*"'
FA = "flash_attn-{}-cp312-cp312-win_amd64.whl"
SAGE = "sageattention-{}-cp39-abi3-win_amd64.whl"


def on(row: dict[str, Any]) -> dict[str, Any]:
    """The needs of a row that are not the healthy machine's."""
    changes = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in row.get("on", {}).items()
    }
    if "torch" in changes:
        version, *cuda = changes["torch"] or (None,)
        changes["torch"] = version and torch(version, next(iter(cuda), None))
    return changes


@pytest.mark.parametrize("row", cases("choices.toml", "rejected"))
def test_rejected_in_words(row: dict[str, Any]) -> None:
    assert reason(row["request"], row["file"], **on(row)) == row["says"]


@pytest.mark.parametrize(("more", "text"), cases("choices.toml", "listed"))
def test_what_a_list_says_counts(more: dict[str, Any], text: str) -> None:
    file = TW.format("3.5.1.post24")
    more = {name: None if value == "none" else value for name, value in more.items()}
    chosen = choose(Requirement("triton-windows"), [link(file, **more)], needs())
    assert chosen.choice.grouped() == ((text, (file,)),)


def test_unhashed_when_allowed_and_what_pip_ignores() -> None:
    odd = link(TW.format("3.5.1.post24"), sha256=None, requires_python="nonsense")
    chosen = choose(Requirement("triton-windows"), [odd], needs(), allow_unhashed=True)
    assert chosen.link is odd


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (WheelContent(requires=()), ""),
        (WheelContent(), "looked into after the download"),
        (WheelContent(requires=(), modules=(CompiledModule(file="a.pyd", whole=True),)), ""),
        (WheelContent(requires=(), modules=(CompiledModule(file="a.pyd"),)), ""),
    ],
)
def test_what_is_known_after_the_download_is_said(content: WheelContent, note: str) -> None:
    taken = link(SAGE.format("2.2.0+cu128torch2.9.0"))
    chosen = choose(Requirement("sageattention"), [taken], needs(), content_of=lambda _: content)
    assert chosen.link is taken
    assert note in " ".join(chosen.choice.notes)
    assert bool(note) is bool(chosen.choice.notes)


def test_wheels_are_read_within_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together, however many there are; the steps are said."""
    read: list[float] = []

    def slow(_: WheelLink, seconds: float) -> WheelContent:
        read.append(seconds)
        monkeypatch.setattr(sources.time, "monotonic", lambda: 85.0 * len(read))
        return WheelContent(wrong="it is damaged")

    monkeypatch.setattr(sources.time, "monotonic", lambda: 0.0)
    monkeypatch.setattr(chooser, "look_into", slow)
    said: list[str] = []
    asked = SetChooser(facts=HEALTHY, sources=Sources(say=said.append))
    files = (SAGE.format(f"2.{n}.0+cu128torch2.9.0") for n in range(5))
    contents = [asked.content_of(link(file)) for file in files]
    assert read == [30.0, 30.0, 10.0]
    assert [content.wrong is None for content in contents] == [False] * 3 + [True] * 2
    assert len(said) == 3


@pytest.mark.parametrize("row", cases("choices.toml", "best"))
def test_best(row: dict[str, Any]) -> None:
    chosen = pick(row["request"], *row["files"], **on(row))
    assert chosen.link.file == chosen.choice.file == row["files"][row["best"]]
    assert len(chosen.choice.rejected) == len(row["files"]) - 1
    assert all(rejection.reasons for rejection in chosen.choice.rejected)


def test_the_second_best_says_what_is_better() -> None:
    chosen = pick("triton-windows", TW.format("3.5.0.post21"), TW.format("3.5.1.post24"))
    assert chosen.choice.in_short() == (
        f"{TW.format('3.5.0.post21')}: fits, but {TW.format('3.5.1.post24')} is newer",
    )


def test_metadata_is_read_from_the_best_on_until_one_fits() -> None:
    files = [f"xformers-0.0.3{n}-py39-none-win_amd64.whl" for n in (3, 4, 5)]
    asked: list[str] = []

    def content_of(wheel: WheelLink) -> WheelContent:
        asked.append(wheel.file)
        series = {files[2]: "==2.10.0", files[1]: ">=2.9"}[wheel.file]
        lines = ("numpy", "not a requirement !", f"torch{series}", 'torch==1; extra == "old"')
        return WheelContent(requires=lines)

    chosen = choose(
        Requirement("xformers"), [link(f) for f in files], needs(), content_of=content_of
    )
    assert asked == [files[2], files[1]]
    assert chosen.choice.file == files[1]
    assert chosen.choice.grouped()[0] == (
        "needs torch ==2.10.0, this is torch 2.9.1+cu128",
        (files[2],),
    )


@pytest.mark.parametrize("row", cases("choices.toml", "noted"))
def test_the_notes_of_a_choice(row: dict[str, Any]) -> None:
    choice = pick(row["request"], *row.get("files", ()), **on(row)).choice
    best = row.get("best")
    assert choice.file == (None if best is None else row["files"][best])
    notes = "\n".join(choice.notes).lower()
    assert [text for text in row["says"] if text not in notes] == []
    assert (PAIR in notes) is (PAIR in row["says"]) or best is None
    assert bool(notes) is bool(row["says"]) or best is None


def test_an_installed_triton_stays_with_a_new_torch_where_the_card_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chooser, "look_into", lambda *_, **__: WheelContent())
    for file in (TW.format("3.2.0.post21"), TW.format("3.5.1.post24"), TORCH.format("2.9.1+cu126")):
        (tmp_path / file).touch()
    places = Sources(lists=(str(tmp_path),), offline=True)
    for card, expected in (("7.5", ["torch"]), ("8.9", ["torch", "triton-windows"])):
        facts = replace(
            HEALTHY,
            gpus=(gpu(card),),
            torch=torch("2.6.0+cu126", "12.6"),
            distributions=(dist("torch", "2.6.0+cu126"), dist("triton-windows", "3.2.0.post21")),
        )
        found = SetChooser(facts=facts, sources=places).choose([Requirement("torch")])
        assert [c.choice.package for c in found.chosen] == expected


def test_a_wheel_that_names_its_torch_comes_before_a_newer_one_that_does_not() -> None:
    files = FA.format("2.8.4"), FA.format("2.8.3+cu128torch2.9")
    links = [link(f, index=None) for f in files]
    assert choose(Requirement("flash-attn"), links, needs()).choice.file == files[1]


def test_the_table_of_packages_is_whole() -> None:
    table = packages.load()
    assert {"flash-attn", "sageattention", "xformers"} <= table.keys()
    assert all(row.source for row in table.values())
    assert all(kernels.source for row in table.values() for kernels in row.kernels)
    modules = {name: packages.module_of(name) for name in ("triton-windows", "flash-attn-3", "a-b")}
    assert modules == {
        "triton-windows": "triton",
        "flash-attn-3": "flash_attn_interface",
        "a-b": "a_b",
    }


def test_needs_of_other_machines() -> None:
    amd = Gpu(index=0, vendor="amd", name="RX 7900", source="test")
    assert needs_of(replace(HEALTHY, gpus=(amd,))).other_gpu == "amd"
    assert needs_of(replace(HEALTHY, gpus=(amd, gpu("8.9")))).other_gpu is None
    assert needs_of(replace(HEALTHY, target=None)).tags == {}
    broken = Driver(vendor="nvidia", source="test", error="not found", cuda="13.0")
    assert needs_of(replace(HEALTHY, drivers=(broken,))).driver_cuda is None


SERIES = [p.torch for p in matrix.load().pairs]
TAGS = st.sampled_from(
    [
        "cp312-cp312-win_amd64",
        "cp313-cp313-win_amd64",
        "cp313-cp313t-win_amd64",
        "cp39-abi3-win_amd64",
        "cp312-cp312-win_arm64",
        "py3-none-any",
        "cp312-cp312-manylinux_2_28_x86_64",
    ]
)
CUDA = st.sampled_from(["118", "124", "126", "128", "130", "132"])
FILES = {
    "triton-windows": st.builds(
        "triton_windows-{}.{}.post{}-{}.whl".format,
        st.sampled_from([r.series for r in matrix.load().releases]),
        st.integers(0, 1),
        st.integers(10, 30),
        TAGS,
    ),
    "torch": st.builds(
        "torch-{}.{}{}-{}.whl".format,
        st.sampled_from([*SERIES, "2.3", "2.99"]),
        st.integers(0, 1),
        st.one_of(st.just(""), st.just("+cpu"), CUDA.map("+cu{}".format)),
        TAGS,
    ),
}
MACHINES = st.builds(
    lambda series, cuda, gpu, driver: needs(
        torch=torch(f"{series}.0+cu{cuda.replace('.', '')}", cuda), gpus=(gpu,), driver_cuda=driver
    ),
    st.sampled_from(SERIES),
    st.sampled_from(["12.4", "12.6", "12.8", "13.0"]),
    st.sampled_from(["6.1", "7.0", "7.5", "8.6", "8.9", "9.0", "12.0"]),
    st.sampled_from(["12.4", "12.8", "13.0", None]),
)


@settings(max_examples=300)
@given(data=st.data(), machine=MACHINES, package=st.sampled_from(sorted(FILES)))
def test_nothing_that_does_not_fit_is_ever_chosen(
    data: st.DataObject, machine: Needs, package: str
) -> None:
    """The order of a list decides only between equals. For extensions: test_install_oracle."""
    files = data.draw(st.lists(FILES[package], min_size=1, max_size=8, unique=True))
    chosen = choose(Requirement(package), [link(f) for f in files], machine)
    back = choose(Requirement(package), [link(f) for f in reversed(files)], machine)
    assert chosen.choice.version == back.choice.version
    taken = chosen.link
    assert len(chosen.choice.rejected) == len(files) - (taken is not None)
    assert all(rejection.reasons for rejection in chosen.choice.rejected)
    if taken is None:
        return
    assert wheels.tag_rank(taken.name.tags, machine.tags) is not None
    table = matrix.load()
    generation = table.generation(machine.gpus[0])
    assert machine.torch is not None
    assert generation is not None
    version = str(taken.name.version)
    if package == "triton-windows":
        pair = table.pair(machine.torch.version)
        assert versions.series(version) == pair.windows
        ranges = [r for r in (generation.triton, generation.triton_partly) if r]
        assert any(versions.fits(version, r) for r in ranges)
    else:
        pair = table.pair(version)
        assert pair is not None
        assert pair.windows is not None
        assert taken.built_for.cuda is not None
        assert not generation.torch or versions.fits(version, generation.torch)
        assert not generation.cuda or versions.fits(taken.built_for.cuda, generation.cuda)
