"""Healthy Windows environments, and the faults of faults.toml that tests seed into them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
from winlane import Environment, Machine, standins
from winlane.cache import copy_tree
from winlane.resources import WHEELS

from tritonwin.facts.amd import chip
from tritonwin.system import toml

FORK = WHEELS["triton-3.8"]
TORCH = ("2.14.1", "13.0")
CARD = "gfx1100,AMD Radeon RX 7900 XTX,24,0"
Steps = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """`problem` must be the first that doctor names, and `names` stand in its evidence.

    Attributes:
        seed: steps by name, with their arguments.
        triton: a wheel; empty for none.
        torch: version and CUDA of a stand-in; empty for none.
        chip: that of a card of AMD, with AMD's torch for it; empty for a card of NVIDIA.
        driver: before a repair Triton's driver is switched to Python.
    """

    problem: str = "none"
    names: str = ""
    seed: Steps = field(default_factory=dict)
    kind: str = "full"
    version: str = "3.12"
    triton: str = "triton-3.8"
    more: Sequence[str] = ()
    torch: Sequence[str] = TORCH
    gpu: str = "8.9"
    where: str | None = None
    user: str = ""
    chip: str = ""
    severity: str = ""
    fixed: bool = False
    driver: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.problem}: {self.names}"


F = TypeVar("F", bound=Fault)


def rows(file: str) -> dict[str, list[dict[str, Any]]]:
    return toml.loads(Path(__file__).with_name(file).read_text("utf-8"))


_TABLE = rows("faults.toml")
FAULTS = tuple(Fault(**row) for row in _TABLE["fault"])
AMD = tuple(
    Fault(**{"chip": "gfx1100", "triton": "triton-3.7", "severity": "error", **row})
    for row in _TABLE["amd"]
)
HEALTHY = tuple(Fault(**row) for row in _TABLE["healthy"])


def one_an_id(faults: Iterable[F]) -> list[ParameterSet]:
    """The first fault of each problem for every run; the further ones belong to `--full`."""
    seen: set[str] = set()
    params = []
    for fault in faults:
        params.append(each(fault, quick=fault.problem not in seen))
        seen.add(fault.problem)
    return params


def usual(values: Iterable[Any], *quick: Any) -> list[ParameterSet]:
    """Values, or tuples of them, for a test that runs by default with the quick ones alone."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if value in quick else pytest.mark.full,
        )
        for value in values
    ]


def each(fault: Fault, *, quick: bool) -> ParameterSet:
    return pytest.param(fault, id=fault.name, marks=() if quick else pytest.mark.full)


def development(machine: Machine, env: Environment, version: str | None = None) -> None:
    """Headers and libs of a full Python, put into an embedded one as its users do."""
    full = machine.environment(version or env.version, "full")
    for folder in ("Include", "libs"):
        shutil.rmtree(env.home / folder, ignore_errors=True)
        copy_tree(full.home / folder, env.home / folder)


@dataclass
class Seed:
    """The machine, the environment and the call of doctor; the methods are steps of faults."""

    machine: Machine
    env: Environment
    cwd: str = "C:\\"

    def sow(self, steps: Steps) -> None:
        """Take each step, of this class or of the machine: a list has arguments, a table keywords.

        A list of tables is a step several times.
        """
        for name, given in steps.items():
            step = getattr(self, name, None) or getattr(self.machine, name)
            if given is True:
                step()
            elif isinstance(given, Mapping):
                step(**given)
            elif isinstance(given[0], Mapping):
                for each in given:
                    step(**each)
            else:
                step(*given)

    def path(self, place: str) -> Path:
        if place[1:2] == ":":
            return self.env.path(place)
        part, _, rest = place.partition("/")
        if part == "site":
            return self.env.site_packages / rest
        return self.env.base.home / rest if part == "base" else self.env.home / place

    def set(self, **variables: str) -> None:
        self.machine.variables.update(variables)

    def delete(self, *places: str) -> None:
        for path in map(self.path, places):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def files(self, **contents: str | Steps) -> None:
        """Write files; one of `{imports = "a.dll"}` is an extension module that needs that DLL."""
        for place, content in contents.items():
            if place[1:2] == ":":
                self.machine.place(place, self._content(content))
            else:
                self.env.replace(self.path(place), self._content(content))

    def edit(self, **texts: Sequence[str]) -> None:
        """Exchange one text of a file by another."""
        for place, (old, new) in texts.items():
            text = self.path(place).read_text("utf-8")
            assert old in text
            self.files(**{place: text.replace(old, new)})

    def _content(self, content: str | Steps) -> bytes:
        if isinstance(content, str):
            return content.encode()
        imports = {content["imports"]: ("lane_function",)}
        return self.machine.fakes.build_dll("lane_module.pyd", imports=imports).read_bytes()

    def dist(self, name: str, version: str, *, files: Steps | None = None, **more: Any) -> None:
        """A distribution that is installed besides."""
        contents = {place: self._content(text) for place, text in (files or {}).items()}
        standins.distribution(self.env, name, version, files=contents, **more)

    def without(self, *names: str) -> None:
        """Remove the records of distributions."""
        for name in names:
            for info in self.env.site_packages.glob(f"{name}-*.dist-info"):
                shutil.rmtree(info)

    def torch(self, version: str, cuda: str) -> None:
        self.without("torch")
        standins.cuda_torch(self.env, self.machine.fakes, version, cuda)

    def development(self, version: str) -> None:
        development(self.machine, self.env, version)

    def library_of(self, version: str) -> None:
        """The import library of another minor version in the place of the own one."""
        other = self.machine.environment(version, "full").home / "libs"
        library = (other / f"python{version.replace('.', '')}.lib").read_bytes()
        self.env.replace("libs/python312.lib", library)

    def runtime_beside(self) -> None:
        """The Visual C++ runtime of a wheel beside python.exe."""
        for dll in self.env.site_packages.glob("*140*.dll"):
            self.env.replace(dll.name, dll.read_bytes())

    def per_user(self) -> None:
        """`pip install --user`: what pip does where site-packages refuses writes."""
        profile = self.machine.home("Ada")
        minor = self.env.version.replace(".", "")
        place = rf"{profile}\AppData\Roaming\Python\Python{minor}\site-packages"
        there = self.machine.place(place, None)
        for found in [*self.env.site_packages.glob("triton*")]:
            found.rename(there / found.name)

    def python_on_path(self, version: str) -> None:
        other = self.machine.environment(version, "full", [FORK])
        self.machine.path_entries.append(other.win(other.home))

    def work(self, *names: str) -> None:
        """Files in the current folder."""
        for name in names:
            self.machine.place(rf"C:\work\{name}", "")
        self.cwd = r"C:\work"

    def value(self, key: str, name: str, data: int, kind: str) -> None:
        self.machine.registry.set(key, name, data, kind)

    def cl(self) -> None:
        """CC names Visual Studio's compiler, outside of its prompt."""
        studio = self.machine.visual_studio()
        self.set(CC=rf"{studio.tools}\bin\Hostx64\x64\cl.exe")

    def no_studio(self) -> None:
        for path in (
            r"C:\Program Files (x86)\Microsoft Visual Studio",
            r"C:\Program Files\Microsoft Visual Studio",
            r"C:\Program Files (x86)\Windows Kits",
        ):
            shutil.rmtree(self.machine.drives.linux(path), ignore_errors=True)

    def toolkit(self, version: str, lacks: str = "", variable: str = "CUDA_PATH") -> None:
        """A variable names a toolkit, which may lack a file."""
        toolkit = self.machine.cuda_toolkit("system", version)
        if lacks:
            self.env.path(rf"{toolkit.root}\{lacks}").unlink()
        self.set(**{variable: toolkit.root})

    def older_radeon(self, **driver: str) -> None:
        self.machine.radeon(CARD, **driver)


S = TypeVar("S", bound=Seed)


def prepare(machine: Machine, fault: Fault, scene: type[S] = Seed) -> S:  # type: ignore[assignment]
    """The healthy environment that the fault is seeded into."""
    if fault.user:
        machine.home(fault.user)
    packages = (*([fault.triton] if fault.triton else []), *fault.more)
    env = machine.environment(fault.version, fault.kind, packages, fault.where)
    if fault.kind == "comfyui":
        development(machine, env)
    if fault.chip:
        _radeon(machine, env, fault)
    else:
        if fault.torch:
            standins.cuda_torch(env, machine.fakes, *fault.torch)
        machine.gpu(fault.gpu)
    return scene(machine, env)


def _radeon(machine: Machine, env: Environment, fault: Fault) -> None:
    """A card of that chip, AMD's torch for it, and all that its clang needs."""
    known = chip(fault.chip)
    assert known
    device = f"{fault.chip},AMD {known.cards},16,{int(known.integrated)}"
    machine.radeon(device, pci=known.devices[0].upper())
    version = "2.11.0" if fault.triton == "triton-3.6" else "2.12.0"
    standins.rocm_torch(env, machine.fakes, fault.chip, version)
    machine.visual_studio()
    machine.windows_sdk()


def seeded(machine: Machine, fault: Fault) -> Seed:
    """An environment with the fault in it."""
    seed = prepare(machine, fault)
    seed.sow(fault.seed)
    return seed
