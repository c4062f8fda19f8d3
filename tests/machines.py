"""Machines to plan builds on: facts, resources and sources, none of them this computer's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from healthy import HEALTHY, gpu
from hosts import fake_host

from tritonwin.build.jobs import Resources
from tritonwin.build.order import BuildMachine
from tritonwin.build.records import GIB
from tritonwin.facts.records import CudaToolkit, MsvcToolset, Torch
from tritonwin.system.host import Environment, Host

HOME = "/home/ada/.local/share/tritonwin"
VS = r"C:\Program Files\Microsoft Visual Studio"
PRODUCTS = {
    "14.0": "2015",
    "14.1": "2017",
    "14.2": "2019",
    "14.3": "2022",
    "14.4": "2022",
    "14.5": "2026",
}


def msvc(version: str, **more: Any) -> MsvcToolset:
    year = PRODUCTS[version[:4]]
    instance = rf"{VS}\{year}\BuildTools"
    folder = rf"{instance}\VC\Tools\MSVC\{version}"
    return MsvcToolset(
        **{
            "version": version,
            "path": folder,
            "compiler": rf"{folder}\bin\Hostx64\x64\cl.exe",
            "english": True,
            "instance": instance,
            "product": f"Visual Studio Build Tools {year}",
            "source": "vswhere",
            "vcvarsall": rf"{instance}\VC\Auxiliary\Build\vcvarsall.bat",
            **more,
        }
    )


def toolkit(version: str, **more: Any) -> CudaToolkit:
    path = rf"C:\CUDA\v{version}"
    return CudaToolkit(
        **{
            "path": path,
            "source": "Program Files",
            "layout": "system",
            "version": version,
            "nvcc": rf"{path}\bin\nvcc.exe",
            **more,
        }
    )


def torch(version: str, cuda: str | None = None) -> Torch:
    return Torch(version=version, location="", source="", cuda=cuda)


def windows(tmp: Path, **facts: Any) -> BuildMachine:
    """A PC with an RTX 4090, 16 cores, 64 GiB free, torch 2.9 for CUDA 12.8, its toolkit, VS 2022."""
    found = replace(
        HEALTHY,
        **{
            "torch": torch("2.9.1+cu128", "12.8"),
            "gpus": (gpu("8.9"),),
            "cuda_toolkits": (toolkit("12.8"),),
            "msvc": (msvc("14.44.35207"),),
            "variables": (),
            **facts,
        },
    )
    return BuildMachine(facts=found, host=fake_host(tmp), resources=room(64), disk_free=500 * GIB)


def linux(tmp: Path, **facts: Any) -> BuildMachine:
    """The same on Linux, with a stand-in for g++ on PATH that answers nothing."""
    compiler = tmp / "bin" / "c++"
    compiler.parent.mkdir(exist_ok=True)
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    machine = windows(tmp, **facts)
    host = Host(
        # builds lie below it unless told otherwise; nothing of this computer's home counts
        Environment({"PATH": str(compiler.parent), "TRITONWIN_HOME": HOME}, windows=False),
        machine.host.registry,
        cwd=tmp,
        home=tmp,
        windows=False,
    )
    system = replace(machine.facts.system, os="linux")
    return replace(machine, host=host, facts=replace(machine.facts, system=system))


def room(gib: float, cores: int = 16, physical: float | None = None) -> Resources:
    free = int(gib * GIB)
    return Resources(
        allocatable=free, physical=free if physical is None else int(physical * GIB), cores=cores
    )


def machine(tmp: Path, on: dict[str, Any]) -> BuildMachine:
    """The machine of a row of corpus/plans.toml."""
    facts: dict[str, Any] = {"system": replace(HEALTHY.system, **on.get("system", {}))}
    if "torch" in on:
        facts["torch"] = torch(*on["torch"]) if on["torch"] else None
    for name, key, kind in (("cuda_toolkits", "toolkits", toolkit), ("msvc", "msvc", msvc)):
        if key in on:
            rows = [{"version": row} if isinstance(row, str) else row for row in on[key]]
            facts[name] = tuple(kind(**fields(row)) for row in rows)
    if "gpus" in on:
        facts["gpus"] = tuple(map(gpu, on["gpus"]))
    if "python_dev" in on and HEALTHY.python_dev:
        facts["python_dev"] = replace(HEALTHY.python_dev, **fields(on["python_dev"]))
    if "target" in on:
        facts["target"] = None
    made = (linux if on.get("os") == "linux" else windows)(tmp, **facts)
    variables = dict(on.get("variables", {}))
    if "path" in on:
        variables["PATH"] = str(tmp / "path")
        for name in on["path"]:
            program = tmp / "path" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    for name in on.get("files", ()):
        (tmp / name).touch()
    return replace(
        having(made, **variables),
        resources=room(on.get("memory", 64), on.get("cores", 16)),
        disk_free=int(on.get("disk", 500) * GIB),
        venv=on.get("venv"),
        runtime=on.get("runtime"),
    )


def fields(row: dict[str, Any]) -> dict[str, Any]:
    """Fields of a record, as a table in TOML has them."""
    values = {"none": None}
    return {
        name: tuple(value) if isinstance(value, list) else values.get(value, value)
        for name, value in row.items()
    }


def having(machine: BuildMachine, **variables: str) -> BuildMachine:
    """The machine with these variables set as well."""
    env = Environment({**machine.host.env.data, **variables}, windows=machine.host.windows)
    return replace(machine, host=replace(machine.host, env=env))
