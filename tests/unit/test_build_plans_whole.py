"""Whole plans of builds, every choice with its words, held to approved/build-plans.txt."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import approved
import pytest
from healthy import gpu
from machines import linux, msvc, room, toolkit, torch, windows
from triton_checkouts import planned, source

from tritonwin.build import archs, tools
from tritonwin.build import toolkit as toolkits
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.plan import GIB, BuildPlan
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load
from tritonwin.facts.records import PythonDev, Variable
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system import codec

NO_HEADERS = PythonDev(
    headers=None, headers_version=None, headers_free_threaded=None, headers_missing=(),
    headers_damaged=(), import_library=None, import_library_dll=None,
)  # fmt: skip
FLAWED = Variable(name="MAX_JOBS", value="4 ", scope="process", flaws=("trailing-blank",))
WHEEL = WheelChoice(
    package="flash-attn", request="flash-attn", version="2.8.3",
    file="flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl", source="x",
)  # fmt: skip
NEW_CUDA = torch("2.11.0+cu130", "13.0")


def lines(made: BuildPlan) -> Iterator[str]:
    """One for each field that is set, and for each item of a list of records."""
    document: dict[str, Any] = codec.to_json(made)  # type: ignore[assignment]
    for name, value in document.items():
        records = value if isinstance(value, list) and value and isinstance(value[0], dict) else ()
        for record in records:
            yield f"{name}: {' | '.join(f'{k}={v}' for k, v in record.items() if v != '')}"
        if value not in (None, "", [], {}) and not records:
            yield f"{name} = {json.dumps(value, sort_keys=True)}"


def answering(machine: BuildMachine, answer: str, **env: str) -> BuildMachine:
    """The machine with a g++ that says its version."""
    folder = Path(machine.host.env.get("PATH") or "")
    (folder / "c++").write_text(f"#!/bin/sh\necho {answer}\n")
    data = {**machine.host.env.data, "TRITONWIN_HOME": str(folder.parent), **env}
    return replace(machine, host=replace(machine.host, env=replace(machine.host.env, data=data)))


def cases(tmp: Path) -> dict[str, Callable[[], BuildPlan]]:
    flash = Order(recipe="flash-attn")

    def on_windows(order: Order = flash, /, **facts: Any) -> Callable[[], BuildPlan]:
        return lambda: plan(order, windows(tmp, **facts))

    def with_room(gib: float, order: Order = flash, **more: Any) -> Callable[[], BuildPlan]:
        return lambda: plan(order, replace(windows(tmp), resources=room(gib, **more)))

    def of_triton(
        version: str, machine: BuildMachine, old: bool = False, **order: Any
    ) -> BuildPlan:
        folder = tmp / f"triton-{version}-{machine.host.windows}-{len(order)}"
        return planned(Order(recipe="triton", **order), machine, source(folder, version, old=old))

    asked = Order(
        recipe="flash-attn", version="2.8.2", archs=("9.0", "12.0"), cuda="12.8", msvc="14.44",
        cpp="20", jobs=3, nvcc_threads=2, gib_per_job=5.5, local_version="mine",
        nvcc_flags=("-lineinfo",), offline=True,
    )  # fmt: skip
    gcc = Order(recipe="flash-attn", archs=("8.0", "9.0"))
    return {
        "everything is asked for": on_windows(asked),
        "two GPUs of two kinds": on_windows(gpus=(gpu("8.6"), gpu("12.0"))),
        "an old GPU beside a new one": on_windows(gpus=(gpu("7.5"), gpu("8.9"))),
        "no GPU": on_windows(gpus=()),
        "no Visual C++": on_windows(msvc=()),
        "a toolset that is too new beside one that is not": on_windows(
            msvc=(msvc("14.44.35207"), msvc("14.51.36014"))
        ),
        "only toolsets that are too new": on_windows(
            msvc=(msvc("14.50.35717"), msvc("14.51.36014"))
        ),
        "an old toolkit with a new toolset": on_windows(
            torch=torch("2.7.0", "12.4"), cuda_toolkits=(toolkit("12.1"),)
        ),
        "a toolset that is not there": on_windows(replace(flash, msvc="14.38")),
        "a toolkit that says what it accepts": on_windows(
            cuda_toolkits=(toolkit("12.8", host_msvc_max="1939"),)
        ),
        "a toolkit of another minor version": on_windows(cuda_toolkits=(toolkit("12.6"),)),
        "toolkits that do not fit": on_windows(
            cuda_toolkits=(
                toolkit("13.0"),
                toolkit("12.6", missing=("cudart.lib",), nvcc=None),
                toolkit("12.7", exists=False),
                replace(toolkit("12.9"), version=None),
            )
        ),
        "no toolkit of CUDA 12": on_windows(cuda_toolkits=()),
        "a toolkit that is put together": on_windows(torch=NEW_CUDA),
        "an extension without torch": on_windows(
            Order(recipe="cuda-extension", source="https://example.org/x.git", ref="v1"),
            torch=None,
            cuda_toolkits=(),
        ),
        "no torch": on_windows(torch=None),
        "a torch without CUDA": on_windows(torch=torch("2.9.1+cpu", None)),
        "no headers": on_windows(python_dev=NO_HEADERS),
        "a variable with a blank": on_windows(variables=(FLAWED,)),
        "a wheel that fits": lambda: plan(flash, replace(windows(tmp), wheel=WHEEL)),
        "no wheel fits": lambda: plan(
            flash, replace(windows(tmp), wheel=replace(WHEEL, file=None, version=None))
        ),
        "many cores and much memory": with_room(10_000, cores=200),
        "little memory": with_room(6),
        "more jobs than memory": with_room(6, replace(flash, jobs=2)),
        "memory that pages": with_room(100, physical=20),
        "a full disk": lambda: plan(flash, replace(windows(tmp), disk_free=GIB // 10)),
        "flags by variables, source by git": on_windows(Order(recipe="sageattention")),
        "Linux": lambda: plan(gcc, answering(linux(tmp), "12.2.0")),
        "Linux, g++ too new": lambda: plan(gcc, answering(linux(tmp), "16.1.0")),
        "Linux, another compiler": lambda: plan(gcc, answering(linux(tmp), "hello", CXX="c++")),
        "Linux, no compiler": lambda: plan(gcc, answering(linux(tmp), "", CXX="clang++")),
        "Linux, a blank in the folder": lambda: plan(
            replace(gcc, root=Path("/a b")), answering(linux(tmp), "12.2.0")
        ),
        "Linux, a toolkit that is put together": lambda: plan(
            gcc, answering(linux(tmp, torch=NEW_CUDA), "12.2.0")
        ),
        "Triton": lambda: of_triton("3.8.0", windows(tmp)),
        "Triton with links, offline": lambda: of_triton(
            "3.6.0", windows(tmp), old=True, offline=True
        ),
        "Triton with a folder of LLVM": lambda: of_triton(
            "3.6.0", answering(linux(tmp), "12.2.0"), old=True, llvm=Path("/llvm"), jobs=4
        ),
        "Triton without a checkout": on_windows(Order(recipe="triton")),
    }


@pytest.mark.skipif(os.name == "nt", reason="some are of Linux, and their compiler is a script")
def test_whole_plans(tmp_path: Path) -> None:
    first = [*lines(plan(Order(recipe="flash-attn"), windows(tmp_path)))]
    told = ["# flash-attn on the PC of machines.windows", *first]
    for name, made in cases(tmp_path).items():
        now = [*lines(made())]
        left = {line.split()[0] for line in now}
        gone = [f"{line.split()[0]} nothing" for line in first if line.split()[0] not in left]
        told += ["", f"# {name}", *gone, *(line for line in now if line not in first)]
    text = "\n".join(told).replace(str(tmp_path), "<folder>")
    text = re.sub(r"\btriton-[0-9a-f]{8}\b", "triton-<of the folder>", text)
    approved.check("build-plans.txt", f"{text}\n")


def test_every_architecture_of_every_source() -> None:
    """The word that the source is given for each, with each CUDA, or why there is none."""
    asked = ("7.0", "7.5", "8.0", "8.6", "8.9", "8.9a", "9.0", "9.0a", "10.0", "10.0f", "10.3a")
    told = []
    for recipe, version in (
        ("flash-attn", "2.7.2"), ("flash-attn", "2.8.3"), ("flash-attn", "2.8.4"),
        ("sageattention", "2.2.0"), ("cuda-extension", "0"),
    ):  # fmt: skip
        for nvcc in (None, "11.8", "12.4", "12.8", "13.0", "13.3"):
            told += ["", f"# {recipe} {version} with CUDA {nvcc}"]
            for arch in (*asked, "12.0", "12.0a", "12.1"):
                found = archs.choose(
                    load(recipe), version, nvcc, gpus=(arch,), asked=(), windows=True
                )
                answers = [*found.value.tokens, *(f"{r.message}. {r.help}" for r in found.refusals)]
                told.append(f"{arch}: {' '.join(answers)} ({found.reasons[0].reason})")
    approved.check("build-archs.txt", "\n".join(told[1:]) + "\n")


def test_every_pair_of_toolset_and_toolkit() -> None:
    told = []
    for version in ("14.16.27023", "14.29.30133", "14.39.33519", "14.44.35207", "14.51.36014"):
        for nvcc in (None, "11.8", "12.1", "12.4", "12.8", "13.0", "13.3"):
            why = tools.why_not(version, cuda=nvcc) or "they go together"
            told.append(f"{version}, CUDA {nvcc}: {why}")
    told.append(tools.why_not("14.44.35207", cuda="12.8", accepts="<14.44"))
    told.append(tools.why_not("14.29.30133", cuda="12.8", wants=">=14.30"))
    approved.check("build-toolsets.txt", "\n".join(told) + "\n")


@pytest.mark.parametrize(("torch_cuda", "version"), [("12.6", "12.6"), (None, "13.0")])
def test_a_toolkit_is_asked_for_by_the_cuda_of_torch(torch_cuda: str | None, version: str) -> None:
    refused = toolkits.refusal((), torch_cuda, windows=True)
    assert f"cuda-toolkit={version}," in refused.help
