"""`tritonwin dlls` against the loader: what it would take is what a Windows process has loaded."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hosts import fake_host
from pe_files import pe_file
from winlane import Environment, Machine

from tritonwin.facts.dlls.loading import dll_tree
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.dlls.tree import SYSTEM_DLLS, faults

PROGRAM = Path(__file__).parent / "programs" / "load_dlls.py"
# what is imported in front, and a file of it below site-packages
REAL = {
    "triton-3.2": ("triton", "triton/_C/libtriton.pyd"),
    "triton-3.3": ("triton", "triton/_C/libtriton.pyd"),
    "triton-3.5": ("triton", "triton/_C/libtriton.pyd"),
    "triton-3.8": ("triton", "triton/_C/libtriton.pyd"),
    "numpy": ("numpy", "numpy/core/_multiarray_umath.cp312-win_amd64.pyd"),
    "numpy linalg": ("numpy", "numpy/linalg/_umath_linalg.cp312-win_amd64.pyd"),
    "torch-cpu": ("torch", "torch/_C.cp312-win_amd64.pyd"),
    "torch-cpu functorch": ("torch", "functorch/_C.cp312-win_amd64.pyd"),
    "torch-cpu library": ("torch", "torch/lib/torch_python.dll"),
    "torch-cpu markupsafe": (None, "markupsafe/_speedups.cp312-win_amd64.pyd"),
    "hypothesis==6.170.17": (None, "hypothesis/_native.cp312-win_amd64.pyd"),
}
QUICK = "triton-3.8"


def loaded(
    machine: Machine, made: Environment, files: list[str], module: str | None = None
) -> dict[str, Any]:
    words = ["--import", module] if module else []
    done = made.run(machine.drives.windows(PROGRAM), *words, *files, timeout=120)
    answer: dict[str, Any] = json.loads(done.check().stdout.partition("ANSWER")[2])
    return answer


def dlls(machine: Machine, made: Environment, file: str) -> dict[str, Any]:
    done = machine.tool("dlls", file, "--python", made.python, "--json", timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def agrees(machine: Machine, name: str) -> None:
    module, place = REAL[name]
    packages = [name.split()[0]]
    if "torch" in name:
        packages += ["numpy", "msvc-runtime-new"]
    made = machine.environment("3.12", "full", [*packages, "setuptools"])
    _lay_runtime_beside(made)
    file = made.win(made.site_packages / place)
    found = dlls(machine, made, file)
    # Wine's own DLLs lack functions that Windows' have, and its loader puts stubs there
    assert [f for f in found["faults"] if f["dll"].lower() not in SYSTEM_DLLS] == []
    answer = loaded(machine, made, [file], module)
    assert answer["errors"] == {file: 0}
    there = {path.rpartition("\\")[2].lower(): path for path in answer["modules"]}
    walked = [m for m in found["tree"]["modules"] if m["state"] == "found"]
    needed = {m["name"].lower(): m["path"] for m in walked if not m["delayed"]}
    assert len(needed) > 2
    for dll, path in needed.items():
        assert there[dll].lower() == path.lower()


def _lay_runtime_beside(made: Environment) -> None:
    """pip lays the files of `msvc-runtime` beside python.exe, uv does not."""
    for dll in (made.site_packages / "Scripts").glob("*140*.dll"):
        made.replace(dll.name, dll.read_bytes())


def test_libtriton_is_loaded_from_where_dlls_says(machine: Machine) -> None:
    agrees(machine, QUICK)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in REAL if name != QUICK])
def test_real_extensions_are_loaded_from_where_dlls_says(machine: Machine, name: str) -> None:
    agrees(machine, name)


@pytest.mark.full
@pytest.mark.parametrize("name", REAL)
def test_tables_of_real_extensions_are_those_of_objdump(machine: Machine, name: str) -> None:
    """GNU binutils share no code with this package."""
    packages = [name.split()[0], "setuptools"]
    made = machine.environment("3.12", "full", packages)
    file = made.site_packages / REAL[name][1]
    objdump = machine.lane.wine.mingw("objdump")
    text = subprocess.run(
        [objdump, "-p", file], capture_output=True, text=True, check=True, timeout=120,
        env=machine.lane.wine.unix_environment(machine.lane.prefix.path),
    ).stdout  # fmt: skip
    image = read_pe(file, functions=True)
    assert image is not None
    ordinary = {i.dll: set(i.functions) for i in image.functions if not i.delayed}
    assert ordinary == imports_of(text)
    names = {each for each in image.exports if isinstance(each, str)}
    assert names == exports_of(text)


def imports_of(text: str) -> dict[str, set[str | int]]:
    found: dict[str, set[str | int]] = {}
    for block in re.split(r"\n\s*DLL Name: ", text)[1:]:
        dll, _, rows = block.partition("\n")
        table = rows.partition("\n\n")[0]
        named = re.findall(r"^\s+[0-9a-f]+\s+\d+\s+(?!<none>)(\S.*)$", table, re.MULTILINE)
        numbered = re.findall(r"^\s+8[0-9a-f]{15}\s+([0-9a-f]+)\s+<none>$", table, re.MULTILINE)
        found[dll.strip()] = {*(each.strip() for each in named), *(int(n, 16) for n in numbered)}
    return found


def exports_of(text: str) -> set[str]:
    table = text.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    rows = re.findall(
        r"^\s+\[\s*\d+\](?: \+base\[\s*\d+\]\s+[0-9a-f]+)? (\S.*)$", table, re.MULTILINE
    )
    return {each.strip() for each in rows}


# how a chain mod.pyd -> a.dll -> b.dll is broken: the error of Windows, and that of Wine's loader,
# which puts a stub where a function is missing and has one number for whatever else goes wrong
SEEDS = {
    "whole": (0, 0),
    "missing": (126, 126),
    "missing further down": (126, 126),
    "lacks a function": (127, 0),
    "lacks a function further down": (127, 0),
    "32 bits": (193, 126),
    "damaged": (193, 126),
    "on PATH only": (126, 126),
}


def break_it(seed: str, machine: Machine, folder: Path) -> None:
    a, b = folder / "a.dll", folder / "b.dll"
    if seed == "missing":
        a.unlink()
    elif seed == "missing further down":
        b.unlink()
    elif seed == "lacks a function":
        imports = {"b.dll": ["g"]}
        a.write_bytes(machine.fakes.build_dll("a.dll", ["old"], imports).read_bytes())
    elif seed == "lacks a function further down":
        b.write_bytes(machine.fakes.build_dll("b.dll", ["old"]).read_bytes())
    elif seed == "32 bits":
        a.write_bytes(pe_file(machine=0x14C))
    elif seed == "damaged":
        a.write_bytes(b"<html>404</html>" * 100)
    elif seed == "on PATH only":
        tools = machine.place(r"C:\tools\a.dll", a)
        machine.path_entries.append(machine.drives.windows(tools.parent))
        a.unlink()


def test_what_does_not_load_is_named_as_windows_says(machine: Machine) -> None:
    made = machine.environment("3.12", "full")
    files = {}
    for seed in SEEDS:
        folder = made.site_packages / seed.replace(" ", "_")
        folder.mkdir()
        for name, exports, imports in (
            ("mod.pyd", ["PyInit_mod"], {"a.dll": ["f"]}),
            ("a.dll", ["f"], {"b.dll": ["g"]}),
            ("b.dll", ["g"], {}),
        ):
            data = machine.fakes.build_dll(name, exports, imports).read_bytes()
            (folder / name).write_bytes(data)
        break_it(seed, machine, folder)
        files[seed] = made.win(folder / "mod.pyd")
    # one process each: a DLL that is there already would serve the next
    errors = {s: loaded(machine, made, [file])["errors"][file] for s, file in files.items()}
    assert errors == {seed: wine for seed, (_, wine) in SEEDS.items()}
    drive = machine.drives.drive_c
    here = fake_host(drive, {"SystemRoot": str(drive / "windows")})
    for seed, file in files.items():
        windows, _ = SEEDS[seed]
        tree = dll_tree(machine.drives.linux(file), here)
        texts = [f.text for f in faults(tree) if f.dll.lower() not in SYSTEM_DLLS]
        assert len(texts) == (1 if windows else 0), seed
        assert all(f"Windows' error {windows}" in text for text in texts), seed
