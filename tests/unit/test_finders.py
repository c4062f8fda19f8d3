"""Facts that finders read from files, variables and the registry: scenes of finders.toml."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cases import CORPUS
from hosts import MemoryRegistry, fake_host
from installed import install, rooted
from pe_files import import_library, pe_file
from pe_version import versioned
from trees import plant, write

from tritonwin.facts.caches import read_caches
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.loading import (
    dll_search,
    read_extensions,
    read_runtime_dlls,
)
from tritonwin.facts.gpu import display_adapters, read_gpus
from tritonwin.facts.interpreters import find_interpreters
from tritonwin.facts.packages import read_shadows
from tritonwin.facts.records import Cache, ExtensionFile, Interpreter, PthFile, Torch, Triton
from tritonwin.facts.system import read_system, read_variables
from tritonwin.facts.toolchain.compilers import find_compilers
from tritonwin.facts.toolchain.cuda import find_cuda_toolkits
from tritonwin.facts.toolchain.msvc import find_msvc, find_windows_sdks
from tritonwin.facts.toolchain.parts import parts
from tritonwin.facts.toolchain.python_dev import find_python_dev
from tritonwin.facts.toolchain.rocm import find_rocm, torch_chips
from tritonwin.facts.torch_triton import read_torch, read_triton
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate
from tritonwin.system import toml
from tritonwin.system.host import Host

TABLE = toml.loads((CORPUS / "finders.toml").read_text("utf-8"))
FINDERS: dict[str, Callable[[Interpreter | None, Host], Sequence[Any]]] = {
    "cards": lambda _, host: [gpu for gpu, _ in display_adapters(host, host.home / "drm")],
    "compilers": find_compilers,
    "cuda": find_cuda_toolkits,
    "development": lambda target, host: [find_python_dev(target, host)],
    "distributions": lambda target, _: read_distributions(target),
    "extensions": lambda target, host: extensions(target, host),
    "gpus": lambda _, host: [record for records in read_gpus(host) for record in records],
    "inductor_cache": lambda target, host: caches(target, host)[1:],
    "interpreters": lambda _, host: find_interpreters(host),
    "msvc": lambda _, host: find_msvc(host),
    "rocm": find_rocm,
    "runtime": read_runtime_dlls,
    "sdk": lambda _, host: find_windows_sdks(host),
    "shadows": read_shadows,
    "system": lambda _, host: [read_system(host)],
    "torch": lambda target, _: the_torch(target),
    "triton": lambda target, _: the_triton(target),
    "triton_cache": lambda target, host: caches(target, host)[:1],
    "variables": lambda _, host: read_variables(host),
}
PLACES = {
    "ProgramFiles": "{tmp}/pf", "ProgramFiles(x86)": "{tmp}/pf86", "SystemDrive": "{tmp}/c",
    "SystemRoot": "{tmp}/Windows",
}  # fmt: skip


def caches(target: Interpreter | None, host: Host) -> Sequence[Cache]:
    """Those of Triton and of inductor."""
    return read_caches(target, host, dll_search(target, None, host))


def the_torch(target: Interpreter | None) -> list[Torch]:
    found = read_torch(target, read_distributions(target))
    return [found] if found else []


def the_triton(target: Interpreter | None) -> list[Triton]:
    found = read_triton(target, read_distributions(target))
    return [found] if found else []


def extensions(target: Interpreter | None, host: Host) -> Sequence[ExtensionFile]:
    torch = next(iter(the_torch(target)), None)
    return read_extensions(target, torch, dll_search(target, torch, host))


def scenes() -> Iterator[Any]:
    for finder in FINDERS:
        for scene in TABLE[finder]:
            yield pytest.param(finder, scene, id=f"{finder}: {scene['name']}")


def files_of(kind: str, version: str = "") -> Sequence[str]:
    if kind == "sdk":
        own = [part.format(version) for part in parts().sdk.every]
        return [*own, f"Include/{version}/shared/minwindef.h"]
    if kind == "msvc":
        folder = f"VC/Tools/MSVC/{version}"
        more = ["VC/Auxiliary/Build/vcvarsall.bat", f"{folder}/bin/Hostx64/x64/1033/clui.dll"]
        return [*more, *(f"{folder}/{part}" for part in parts().msvc.every)]
    found: Sequence[str] = TABLE["sets"][kind]
    return found


def python(version: str, machine: str = "") -> dict[str, str | bytes]:
    """A Windows Python: the program, and DLLs with its version."""
    dll = f"python{''.join(version.split('.')[:2])}.dll"
    made = versioned(pe_file(), "3.0.0.0", version)
    program = pe_file(dll, machine=0xAA64 if machine == "ARM64" else 0x8664)
    return {"python.exe": program, dll: made, "python3.dll": made}


def venv(home: str, lines: str = "") -> dict[str, str | bytes]:
    config = f"home = {home}\nversion = 3.11.4\n{lines}"
    return {"pyvenv.cfg": config, "Scripts/python.exe": pe_file("KERNEL32.dll")}


def torch() -> dict[str, str | bytes]:
    lines = ("from typing import Optional", "__version__ = '2.9.1+cu128'", "debug = False",
             "cuda: Optional[str] = '12.8'", "hip: Optional[str] = None")  # fmt: skip
    return {"torch/__init__.py": "", "torch/version.py": "\n".join(lines) + "\n"}


def hook(*, whole: bool = True) -> dict[str, str | bytes]:
    made = generate(RuleChoice())
    return {name: text[: len(text) if whole else len(text) // 2] for name, text in made.items()}


WRITTEN: dict[str, Callable[..., dict[str, str | bytes]]] = {
    "python": python,
    "venv": venv,
    "torch": torch,
    "environments": lambda *places: {".conda/environments.txt": "\n".join(places)},
    "finder": lambda place: {"__editable___x_finder.py": f"MAPPING = {{'triton': {place!r}}}\n"},
    "fork": lambda: TABLE["fork"],
    "half hook": lambda: hook(whole=False),
    "headers": lambda: TABLE["headers"],
    "hook": hook,
    "library": lambda name: {name: import_library()},
    "module": lambda name, *imports: {name: pe_file(*imports)},
    "unpatched": lambda: TABLE["unpatched"],
}


def filled(tmp: Path, value: Any) -> Any:
    """The value with its folders, `{tmp}/a` as this system writes it, and None for `none`."""
    if isinstance(value, Mapping):
        told = {name: filled(tmp, each) for name, each in value.items() if name != "none"}
        return told | dict.fromkeys(value.get("none", ()))
    if isinstance(value, list):
        return tuple(filled(tmp, each) for each in value)
    if not isinstance(value, str):
        return value
    before, place, inside = value.partition("{tmp}/")
    return f"{before}{tmp / inside}" if place else value


def laid_out(tmp: Path, scene: Mapping[str, Any]) -> tuple[Interpreter, Host]:
    for place, kind, *more in scene.get("sets", ()):
        if kind in WRITTEN:
            write(tmp / place, WRITTEN[kind](*filled(tmp, more)))
            continue
        version, without = [*more, "", ""][:2]
        files = (f for f in files_of(kind, version) if not without or not f.endswith(without))
        plant(tmp / place, *files)
    for row in scene.get("installs", ()):
        told = {name: value for name, value in row.items() if name != "in"}
        install(tmp / row.get("in", "Lib/site-packages"), **told)
    for place in scene.get("remove", ()):
        (tmp / place).unlink()
    plant(tmp, *scene.get("plant", ()))
    write(tmp, scene.get("write", {}))
    dlls = scene.get("dlls", {})
    write(tmp, {name: versioned(pe_file(), version) for name, version in dlls.items()})
    windows = not scene.get("linux")
    env = {
        name: value.format(tmp=tmp) for name, value in {**PLACES, **scene.get("env", {})}.items()
    }
    host = fake_host(tmp, env, MemoryRegistry(), windows=windows)
    registry = {
        key: {n: v.format(tmp=tmp) if isinstance(v, str) else v for n, v in values.items()}
        for key, values in scene.get("registry", {}).items()
    }
    app = tmp / scene["app"] if "app" in scene else None
    cwd = tmp / scene.get("cwd", "cwd")
    cwd.mkdir(parents=True, exist_ok=True)
    host = replace(host, registry=MemoryRegistry(registry), cwd=cwd, app=app)
    fields = filled(tmp, scene.get("target", {}))
    if "pth" in fields:
        fields["pth"] = PthFile(**fields["pth"])
    return rooted(tmp, **fields), host


@pytest.mark.parametrize(("finder", "scene"), list(scenes()))
def test_what_is_found(tmp_path: Path, finder: str, scene: Mapping[str, Any]) -> None:
    if scene.get("linux") and os.name == "nt":
        pytest.skip("a drive's colon would end an entry of PATH")
    found = FINDERS[finder](*laid_out(tmp_path, scene))
    # of this computer, if it has one
    found = [record for record in found if getattr(record, "source", "") != "/usr/local"]
    wanted = scene.get("finds", [])
    assert len(found) == len(wanted), found
    for record, row in zip(found, wanted, strict=True):
        expected = filled(tmp_path, row)
        assert fields_of(record, expected) == expected
    assert sum(getattr(record, "chosen", False) for record in found) <= 1


def fields_of(record: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields of a record, and of the records in it."""
    read = record.get if isinstance(record, dict) else partial(getattr, record)
    found = {name: read(name) for name in wanted}
    return {name: like(wanted[name], value) for name, value in found.items()}


def like(wanted: Any, found: Any) -> Any:
    """The parts of a value that are wanted of it."""
    if isinstance(wanted, Mapping):
        return fields_of(found, wanted)
    if isinstance(wanted, tuple) and len(wanted) == len(found):
        return tuple(like(one, other) for one, other in zip(wanted, found, strict=True))
    return found


@pytest.mark.parametrize("finder", ["compilers", "cuda", "rocm"])
def test_nothing_is_found_without_a_target(tmp_path: Path, finder: str) -> None:
    assert tuple(FINDERS[finder](None, fake_host(tmp_path))) == ()


def test_the_chips_of_amds_torch_are_those_of_its_parts(tmp_path: Path) -> None:
    plant(tmp_path, "amd_torch_device_gfx1201-2.12.0+rocm7.13.0.dist-info/METADATA")
    assert torch_chips(tmp_path) == ("gfx1201",)
