"""The table of the rungs, and which of them a machine is asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import healthy
import pytest
from healthy import TOOLSET, changed, gpu, radeon

from tritonwin.errors import UserError
from tritonwin.facts.records import Driver, Facts, Torch
from tritonwin.problems.catalogue import LAYERS
from tritonwin.verify import ladder, records
from tritonwin.verify.records import Rung, RungState
from tritonwin.verify.setting import ProofSetting, obstacle, setting_for

RUNGS = records.load().rung
ALL = (*RUNGS, *records.load().bench)
FOLDER = files("tritonwin.verify.rungs")
PROGRAMS = {item.name for item in FOLDER.iterdir() if item.name.endswith(".py")}
BY_ID = {rung.id: rung for rung in RUNGS}


def test_rows_name_what_there_is() -> None:
    table = FOLDER.joinpath("ladder.toml").read_text("utf-8")
    assert len(BY_ID) == len(RUNGS)
    for n, rung in enumerate(RUNGS):
        assert rung.title, rung.id
        assert rung.proves, rung.id
        assert 60 <= rung.limit <= 3600, rung.id
        assert set(rung.needs) <= {earlier.id for earlier in RUNGS[:n]}, rung.id
        for file in (rung.program, *rung.helpers):
            assert FOLDER.joinpath(file).is_file(), file
        for demand in rung.demands:
            assert f"#           {demand.partition(':')[0]}" in table, rung.id
        assert set(rung.layers) <= set(LAYERS), rung.id


def test_fix_tries_the_same_four_as_ever() -> None:
    assert [rung.id for rung in ladder.BASIC] == [
        "headers-and-library",
        "import-triton",
        "compile-cubin",
        "helper-module",
    ]


def test_programs_are_those_of_a_rung() -> None:
    used = {file for rung in ALL for file in (rung.program, *rung.helpers)}
    assert PROGRAMS - used == {"probe_runner.py", "__init__.py"}


def modules_of(file: str) -> set[str]:
    """The other files of `rungs/` that one imports."""
    text = FOLDER.joinpath(file).read_text("utf-8")
    names = re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)
    return PROGRAMS & {f"{name}.py" for name in names}


@pytest.mark.parametrize("rung", ALL, ids=lambda rung: rung.id)
def test_what_a_program_imports_is_copied_beside_it(rung: Rung) -> None:
    used, waiting = set[str](), {rung.program}
    while waiting:
        used |= waiting
        waiting = {m for file in waiting for m in modules_of(file)} - used
    assert used - {rung.program, "probe_runner.py"} == set(rung.helpers)


def test_the_ladder_is_cut_and_picked() -> None:
    def ids(through: str | None, *only: str) -> list[str]:
        return [rung.id for rung in records.select(through, only)]

    assert ids("import-triton") == ["headers-and-library", "import-triton"]
    assert ids(None, "ptxas", "import-triton") == ["import-triton", "ptxas"]
    assert ids(None) == [rung.id for rung in RUNGS]
    for through, only in ((None, ["nothing"]), ("nothing", ()), ("import-triton", ["ptxas"])):
        with pytest.raises(UserError, match="nothing"):
            records.select(through, only)


def where(facts: Facts, capability: str) -> ProofSetting:
    """A setting with a driver, whose GPU, or the architecture asked for, has that capability."""
    return ProofSetting(
        facts=facts,
        python="python",
        environment={},
        compiler="/usr/bin/cc",
        driver=True,
        arch=int(capability.replace(".", "")),
    )


def with_triton(version: str, owner: str | None = None) -> Facts:
    facts = healthy.changed()
    assert facts.triton
    triton = replace(facts.triton, version=version)
    rest = tuple(d for d in facts.distributions if d.name != "triton-windows")
    fork = healthy.dist("triton-windows", owner or version)
    return replace(facts, triton=triton, distributions=(*rest, fork))


@pytest.mark.parametrize(
    ("rung", "capability", "triton", "state", "says"),
    [
        ("dot-fp16", "8.9", "3.5.1", None, ""),
        ("dot-fp16", "7.5", "3.2.0", None, ""),
        ("dot-fp16", "7.5", "3.5.1", "not-applicable", "Turing"),
        ("vector-add", "7.5", "3.5.1", None, ""),
        ("vector-add", "6.1", "3.5.1", "not-applicable", "Pascal"),
        ("compile-cubin", "7.0", "3.5.1", "not-applicable", "Volta"),
        ("dot-bf16", "7.5", "3.2.0", "not-applicable", "bf16 needs compute capability 8.0"),
        ("dot-fp8e4nv", "8.9", "3.5.1", None, ""),
        ("dot-fp8e4nv", "8.6", "3.4.0.post21", "not-applicable", "8.9"),
        ("dot-fp8e4nv", "8.6", "3.5.1.post24", None, ""),
        ("compile-fp8", "8.6", "3.2.0.post21", None, ""),
        ("compile-fp8", "8.6", "3.2.0.post19", "not-applicable", "fp8e4nv"),
        ("dot-fp8e5", "8.0", "3.5.1", None, ""),
        ("dot-fp16", "10.0", "3.2.0", "not-applicable", "Blackwell"),
        ("dot-fp16", "99.0", "3.5.1", None, ""),
        ("dot-fp16", "7.5", "no version", None, ""),
        ("compile-fp8", "8.0", "3.2.0", "not-applicable", "8.9, kernels are compiled for 8.0: "),
        ("dot-bf16", "7.5", "3.2.0", "not-applicable", "8.0, this is 7.5: "),
    ],
)
def test_what_a_generation_cannot_do_is_named_by_the_matrix(
    rung: str, capability: str, triton: str, state: RungState | None, says: str
) -> None:
    short = triton.partition(".post")[0]
    facts = replace(with_triton(short, triton), gpus=(gpu(capability),))
    found = obstacle(BY_ID[rung], where(facts, capability))
    assert (found[0] if found else None) == state
    assert says in (found[1] if found else "")


CPU_TORCH = Torch(version="2.9.1+cpu", location="l", source="s")


@pytest.mark.parametrize(
    ("rung", "changes", "state", "says"),
    [
        ("vector-add", {"gpus": ()}, "not-applicable", "no NVIDIA GPU"),
        (
            "vector-add",
            {"gpus": (replace(gpu("8.9"), compute_capability=None),)},
            "not-applicable",
            "no NVIDIA GPU",
        ),
        ("sdpa", {"torch": None}, "not-installed", "torch"),
        ("sdpa", {"torch": CPU_TORCH}, "not-applicable", "without CUDA"),
        ("torch-compile-cpp", {"torch": None}, "not-installed", "torch"),
        ("torch-compile-cpp", {"msvc": ()}, "not-applicable", "cl.exe"),
        ("torch-compile-cpp", {"torch": CPU_TORCH, "msvc": (TOOLSET,)}, None, ""),
        ("flash-attn", {}, "not-installed", "flash-attn"),
    ],
)
def test_what_is_not_there(
    rung: str, changes: dict[str, object], state: RungState | None, says: str
) -> None:
    gpus = {"gpus": (gpu("8.9"),)}
    facts = healthy.changed(**{**gpus, **changes})
    found = obstacle(BY_ID[rung], where(facts, "8.9"))
    assert (found[0] if found else None) == state
    assert says in (found[1] if found else "")


def test_a_package_that_the_gpu_is_too_old_for() -> None:
    flash = healthy.dist("flash-attn", "2.8.3")
    facts = healthy.part("torch", cuda="12.8")
    old = replace(facts, gpus=(gpu("7.5"),), distributions=(*facts.distributions, flash))
    state, reason = obstacle(BY_ID["flash-attn"], where(old, "7.5")) or ("", "")
    assert state == "not-applicable"
    assert "flash-attn works on compute capability >=8.0" in reason


def test_the_tables_can_be_overruled() -> None:
    facts = replace(with_triton("3.5.1"), gpus=(gpu("6.1"),))
    setting = replace(setting_for(facts, {}), python="/nowhere/python")
    rungs = [replace(BY_ID["compile-cubin"], needs=())]
    assert ladder.prove(setting, rungs).results[0].state == "not-applicable"
    tried = ladder.prove(replace(setting, forced=True), rungs).results[0]
    assert (tried.state, "cannot be started" in tried.detail) == ("failed", True)


def test_launches_are_asked_of_the_gpu_and_compiling_of_the_wish() -> None:
    facts = replace(with_triton("3.5.1"), gpus=(gpu("7.5"),))
    setting = setting_for(facts, {}, arch=90)
    assert setting.capability(BY_ID["vector-add"]) == "7.5"
    assert setting.capability(BY_ID["compile-cubin"]) == "9.0"
    wide = setting_for(facts, {}, arch=120)
    assert wide.capability(BY_ID["compile-cubin"]) == "12.0"


def test_an_amd_card_has_rungs_of_its_own_and_the_others_say_that_they_were_not_tried() -> None:
    on_amd = setting_for(radeon("gfx1151"), {})
    assert [rung.id for rung in ladder.basic(on_amd)][-2:] == ["compile-hsaco", "amd-helper"]
    untried = {rung.id: found[1] for rung in RUNGS if (found := obstacle(rung, on_amd))}
    assert not {"compile-hsaco", "amd-helper", "amd-launch", "compile-cubin"} & untried.keys()
    assert "it was not tried on AMD Radeon 8050S" in untried["vector-add"]
    silent = radeon(rocm=(), drivers=(Driver(vendor="amd", source="registry", error="no HIP"),))
    assert dict(only_amd(setting_for(silent, {}))) == {
        "amd-helper": "AMD's driver: no HIP",
        "amd-launch": "AMD's driver: no HIP",
    }
    elsewhere = setting_for(changed(), {})
    assert {reason for _, reason in only_amd(elsewhere)} == {
        "no AMD card whose chip is known is here"
    }
    asked = dict(only_amd(setting_for(changed(), {}, chip="gfx1201")))
    assert asked == dict.fromkeys(("amd-helper", "amd-launch"), "no AMD card is here")


def only_amd(setting: ProofSetting) -> list[tuple[str, str]]:
    return [(r.id, found[1]) for r in RUNGS if r.of_amd and (found := obstacle(r, setting))]
