"""The choice of install for many PCs, against a pick by brute force; and its requests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import approved
import pytest
from healthy import HEALTHY, dist, gpu, radeon
from list_server import ListServer
from oracle import Pc, best
from packaging.requirements import Requirement
from public_lists import (
    CUDAS,
    LISTED,
    PACKAGES,
    PCS,
    PYTHONS,
    SOME,
    TORCH,
    expected,
    known,
    serve,
)
from wheel_files import make_wheel

from tritonwin.facts.records import Facts, Torch
from tritonwin.support import install_plan, matrix
from tritonwin.support.chooser import SetChooser, choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.install_plan import resolve, torch_indexes
from tritonwin.support.links import WheelLink
from tritonwin.support.lists import known_wheels
from tritonwin.support.pip import Pip, PipError
from tritonwin.support.sources import Sources


def facts(pc: Pc) -> Facts:
    assert HEALTHY.target is not None
    version = f"{pc.torch}+cu{pc.cuda.replace('.', '')}"
    return replace(
        HEALTHY,
        target=replace(HEALTHY.target, version=f"{pc.python}.9"),
        torch=Torch(version=version, location="t", source="t", cuda=pc.cuda),
        gpus=(gpu(pc.gpu),),
    )


def compare(package: str, pc: Pc, links: tuple[WheelLink, ...], files: list[str]) -> str | None:
    mine = [link for link in links if link.name.distribution == package]
    found = choose(Requirement(package), mine, needs_of(facts(pc)), allow_unhashed=True).choice
    assert found.file == best(package, files, pc), (package, pc)
    assert len(found.rejected) == len(mine) - (found.file is not None)
    assert all(rejected.reasons for rejected in found.rejected)
    if found.file is None and package in {"flash-attn", "sageattention"}:
        assert found.notes, pc  # what to do instead
    return found.file


@pytest.mark.parametrize("package", LISTED)
def test_the_real_lists(package: str) -> None:
    links = known()
    for pc in SOME:
        compare(package, pc, links, [link.file for link in links])


HEAD = """\
# Wheels for Windows: what a PC gets

From the lists of {date} that ship with tritonwin; `install` asks for newer ones. Not every torch was
released for every CUDA. A cell is the version for compute capability 8.6 and 8.9 (and for 12.0, where
that differs); `-`: no wheel fits, and `install` says what to do instead. On 7.5 there is no flash-attn,
and of SageAttention the release 1.0.6, which has no compiled part and is slower than 2.
"""


@pytest.mark.full
def test_the_real_lists_for_every_pc() -> None:
    """Every PC against the oracle; docs/wheels.md is the outcome."""
    links = known()
    files = [link.file for link in links]
    text = HEAD.format(date=known_wheels().date)
    for package in ("flash-attn", "sageattention"):
        rows: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
        for pc in PCS:
            taken = compare(package, pc, links, files)
            version = taken.removesuffix(".whl").split("-")[1].partition("+")[0] if taken else "-"
            rows.setdefault((pc.torch, pc.cuda), {})[pc.python, pc.gpu] = version
        text += f"\n## {package}\n\n| torch | CUDA | 3.10 | 3.11 | 3.12 | 3.13 |\n"
        text += "| --- | --- | --- | --- | --- | --- |\n"
        for torch in TORCH:
            lines: dict[str, list[str]] = {}
            for cuda in CUDAS:
                found = rows[torch, cuda]
                lines.setdefault(" | ".join(cell(found, python) for python in PYTHONS), []).append(
                    cuda
                )
            for line, cudas in lines.items():
                if set(line.split(" | ")) - {"-", "1.0.6"}:
                    text += f"| {torch} | {', '.join(cudas)} | {line} |\n"
    approved.check("../../docs/wheels.md", text)


def cell(found: dict[tuple[str, str], str], python: str) -> str:
    ampere, ada, blackwell = (found[python, gpu] for gpu in ("8.6", "8.9", "12.0"))
    assert ampere == ada
    return ampere if blackwell == ampere else f"{ampere} (12.0: {blackwell})"


def take(sources: Sources, pcs: list[Pc]) -> None:
    for pc in pcs:
        for package in PACKAGES:
            chooser = SetChooser(facts=facts(pc), sources=sources)
            (found,) = chooser.choose([Requirement(package)]).chosen
            assert found.choice.file == expected(package, pc), (package, pc)


@pytest.mark.parametrize("pcs", [SOME[:2], pytest.param(SOME, marks=pytest.mark.full)], ids=len)
def test_ten_packages_from_a_server(server: ListServer, tmp_path: Path, pcs: list[Pc]) -> None:
    index, table = serve(server, tmp_path)
    sources = Sources(
        indexes=(index,),
        torch_indexes=(f"{table.torch}/cu128",),
        public=table,
        folder=tmp_path / "kept",
    )
    take(sources, pcs)
    whole = [path for path, status in server.asked if status == 200]
    assert len(whole) == len(set(whole))  # nothing is asked twice
    assert not any(path.startswith("/files/") for path in whole)  # no wheel is fetched whole
    server.asked.clear()
    take(replace(sources, run=type(sources.run)()), pcs)
    assert {status for _, status in server.asked} <= {304, 404}


# --- AMD's indexes: one for all chips, whose parts are packages of their own, and one a family

CHIPS = (
    "gfx1010", "gfx1030", "gfx1033", "gfx1036", "gfx1100", "gfx1103", "gfx1150", "gfx1151", "gfx1200",
    "gfx1201",
)  # fmt: skip
AMD_PYTHONS = ("3.10", "3.12", "3.13")
# torch, its ROCm, torchvision, the Pythons, and the chips with a part
PARTS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("2.11.0", "7.13.0", "0.26.0", AMD_PYTHONS, CHIPS[:2] + CHIPS[3:]),
    ("2.12.0", "7.13.0", "0.27.0", AMD_PYTHONS, CHIPS[3:]),
    ("2.13.0", "7.14.0", "0.28.0", AMD_PYTHONS[1:], CHIPS[4:9]),
    ("2.14.0a0", "10.1.0a20260823", "0.29.0a0", AMD_PYTHONS, CHIPS),
)
# the same by family, before there was one index
FAMILIES = {
    "gfx103X-all": ("2.10.0", "7.2.1", "0.25.0", ("3.12",)),
    "gfx110X-all": ("2.9.1", "7.2.1", "0.24.1", ("3.12",)),
}
AMD_TRITON = {"2.10": "3.6.0.post26", "2.11": "3.6.0.post26", "2.12": "3.7.1.post27"}
AMD_TRITON["2.13"] = AMD_TRITON["2.12"]


def amd_wheels(folder: Path, name: str, version: str, rocm: str, pythons: tuple[str, ...],
               chips: tuple[str, ...], torch: str)  -> Iterator[Path]:  # fmt: skip
    requires = [f"rocm[libraries]=={rocm}" if name == "torch" else f"torch=={torch}+rocm{rocm}"]
    requires += [
        f'amd-{name}-device-{each}=={version}+rocm{rocm}; extra == "device-{each}"'
        for each in chips
    ]
    for python in pythons:
        tag = f"cp{python.replace('.', '')}"
        for platform in ("win_amd64", "linux_x86_64"):
            file = f"{name}-{version}+rocm{rocm}-{tag}-{tag}-{platform}.whl"
            yield make_wheel(folder, file, requires)


@pytest.fixture
def amds_world(server: ListServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    everything = [
        wheel
        for torch, rocm, vision, pythons, chips in PARTS
        for name, version in (("torch", torch), ("torchvision", vision))
        for wheel in amd_wheels(tmp_path / "all", name, version, rocm, pythons, chips, torch)
    ]
    for family, (torch, rocm, vision, pythons) in FAMILIES.items():
        wheels = [
            wheel
            for name, version in (("torch", torch), ("torchvision", vision))
            for wheel in amd_wheels(tmp_path / family, name, version, rocm, pythons, (), torch)
        ]
        server.index(f"families/{family}", *wheels)
    usual = [f"triton_windows-{v}-cp3{n}-cp3{n}-win_amd64.whl" for n in (10, 12, 13)
             for v in ("3.5.1.post24", "3.8.0.post29", *AMD_TRITON.values())]  # fmt: skip
    usual += [
        "torch-2.14.1-cp312-cp312-win_amd64.whl",
        "torchvision-0.29.1-cp312-cp312-win_amd64.whl",
    ]
    default = server.index("simple", *(make_wheel(tmp_path / "usual", file) for file in usual))
    table = matrix.load()
    amd = replace(
        table.amd,
        address=server.index("all", *everything),
        families=f"{server.address}/families",
    )
    monkeypatch.setattr(matrix, "load", lambda: replace(table, amd=amd))
    return Sources(indexes=(default,), folder=tmp_path / "kept")


def amd_oracle(architecture: str, python: str) -> list[str | None]:
    """Files of torch, torchvision and triton-windows, by going through the tables above."""
    tag = f"cp{python.replace('.', '')}"
    family = next((f for f in FAMILIES if f[:6] == architecture[:6]), None)
    offered = [(*row[:4], row[4]) for row in PARTS if "a" not in row[0]]
    offered += [(*FAMILIES[family], (architecture,))] if family else []
    fitting = [row for row in offered if python in row[3] and architecture in row[4]]
    if not fitting:
        return [None, None, None]
    torch, rocm, vision, _, _ = max(fitting, key=lambda row: tuple(map(int, row[0].split("."))))
    triton = AMD_TRITON.get(torch.rpartition(".")[0])
    return [
        f"torch-{torch}+rocm{rocm}-{tag}-{tag}-win_amd64.whl",
        f"torchvision-{vision}+rocm{rocm}-{tag}-{tag}-win_amd64.whl",
        f"triton_windows-{triton}-{tag}-{tag}-win_amd64.whl" if triton else None,
    ]


def amd_pc(architecture: str, python: str) -> Facts:
    """A PC with such a card and nothing installed."""
    found = radeon(architecture, distributions=(), torch=None, triton=None, rocm=())
    assert found.target
    return replace(found, target=replace(found.target, version=f"{python}.9"))


REQUESTS = [Requirement(name) for name in ("torch", "torchvision", "triton-windows")]


def chosen(facts: Facts, sources: Sources) -> list[str | None]:
    given = replace(sources, torch_indexes=torch_indexes(needs_of(facts)))
    found = SetChooser(facts=facts, sources=given).choose(REQUESTS)
    assert all(r.reasons for c in found.chosen for r in c.choice.rejected)
    by_name = {c.choice.package: c.choice.file for c in found.chosen}
    return [by_name[request.name] for request in REQUESTS]


def test_amds_indexes_for_ten_chips_and_three_pythons(
    amds_world: Sources, server: ListServer
) -> None:
    for architecture, python in itertools.product(CHIPS, AMD_PYTHONS):
        expected = amd_oracle(architecture, python)
        found = chosen(amd_pc(architecture, python), amds_world)
        # without a torch no Triton is excluded
        assert found == (expected if expected[0] else [None, None, found[2]]), (
            architecture,
            python,
        )
    assert not [
        path for path, status in server.asked if path.startswith("/files/") and status == 200
    ]


def test_a_cuda_torch_gives_way_to_one_for_the_card(amds_world: Sources) -> None:
    wrong = radeon(
        torch=HEALTHY.torch,
        distributions=(*HEALTHY.distributions, dist("torchvision", "0.24.1+cu128")),
        rocm=(),
    )
    given = replace(amds_world, torch_indexes=torch_indexes(needs_of(wrong)))
    found = SetChooser(facts=wrong, sources=given).choose([Requirement("torch")])
    files = [c.choice.file or "" for c in found.chosen]
    assert sorted(files) == sorted(f or "" for f in amd_oracle("gfx1100", "3.12"))


def test_the_rocm_that_is_installed_decides(amds_world: Sources) -> None:
    facts = replace(amd_pc("gfx1100", "3.12"), distributions=(dist("rocm", "7.13.0"),))
    assert (chosen(facts, amds_world)[0] or "").startswith("torch-2.12.0+rocm7.13.0-")


def test_a_card_without_wheels_gets_the_build_for_the_processor(amds_world: Sources) -> None:
    facts = amd_pc("gfx803", "3.12")
    assert torch_indexes(needs_of(facts)) == ()
    assert chosen(facts, amds_world)[0] == "torch-2.14.1-cp312-cp312-win_amd64.whl"


def test_what_pip_is_asked_for_beside_amds_torch(
    amds_world: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(pip: Pip, wanted: list[str], **_: object) -> None:
        asked.extend(wanted)
        raise PipError("pip finds nothing to install", "")

    monkeypatch.setattr(install_plan, "dry_run", refuse)
    facts = amd_pc("gfx1100", "3.12")
    given = replace(amds_world, torch_indexes=torch_indexes(needs_of(facts)))
    chooser = SetChooser(facts=facts, sources=given)
    links = [c.link for c in chooser.choose(REQUESTS).chosen if c.link]
    with pytest.raises(PipError, match="source archive") as refused:
        resolve(facts, links, Pip(("python",)), chooser)
    assert asked == [
        "rocm[libraries]==7.14.0",
        "amd-torch-device-gfx1100==2.13.0+rocm7.14.0",
        "amd-torchvision-device-gfx1100==0.28.0+rocm7.14.0",
    ]
    assert '/all" "rocm[libraries,device-gfx1100]==7.14.0"' in (refused.value.help or "")
