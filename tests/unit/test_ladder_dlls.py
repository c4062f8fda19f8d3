"""A DLL load that failed is followed down to the DLL that is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from hosts import fake_host
from pe_files import pe_file

from tritonwin.facts.records import ExtensionFile, Facts
from tritonwin.system.host import Host
from tritonwin.verify import records
from tritonwin.verify.causes import dll_hints

RUNGS = {rung.id: rung for rung in records.load().rung}
REFUSED = "ImportError: DLL load failed while importing libtriton: The specified module could ..."


def windows(folder: Path) -> Host:
    return fake_host(folder, {"SystemRoot": str(folder / "Windows")})


def facts(folder: Path) -> Facts:
    python, site = folder / "py", folder / "py" / "Lib" / "site-packages"
    site.mkdir(parents=True)
    found = healthy.changed()
    assert found.target
    assert found.triton
    library = site / "libtriton.pyd"
    library.write_bytes(pe_file("gone.dll"))
    module = site / "flash_attn_2_cuda.pyd"
    module.write_bytes(pe_file("lost.dll"))
    target = replace(
        found.target,
        executable=str(python / "python.exe"),
        base_executable=None,
        prefix=str(python),
        base_prefix=str(python),
        site_packages=(str(site),),
    )
    extension = ExtensionFile(path=str(module), package="flash-attn", unresolved=())
    triton = replace(found.triton, libtriton=str(library))
    return replace(found, target=target, triton=triton, torch=None, extensions=(extension,))


@pytest.mark.parametrize(
    ("rung", "output", "names"),
    [
        ("import-triton", REFUSED, ["gone.dll"]),
        ("import-triton", "the process ended with 0xC0000135 (a DLL was not found)", ["gone.dll"]),
        ("helper-module", "OSError: [WinError 126] The specified module", ["gone.dll"]),
        ("flash-attn", REFUSED, ["lost.dll"]),
        ("import-triton", "ModuleNotFoundError: No module named 'triton'", []),
    ],
)
def test_the_missing_dll_is_named(tmp_path: Path, rung: str, output: str, names: list[str]) -> None:
    hints = dll_hints(RUNGS[rung], output, facts(tmp_path), windows(tmp_path))
    assert [hint.split(",")[0] for hint in hints] == names
    assert all("was found nowhere" in hint for hint in hints)


def test_facts_of_another_system_say_nothing(tmp_path: Path) -> None:
    found = facts(tmp_path)
    linux = replace(found, system=replace(found.system, os="linux"))
    assert dll_hints(RUNGS["import-triton"], REFUSED, linux, windows(tmp_path)) == ()
    nobody = replace(found, target=None)
    assert dll_hints(RUNGS["import-triton"], REFUSED, nobody, windows(tmp_path)) == ()
