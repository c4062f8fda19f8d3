from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hosts import fake_host
from installed import rooted
from trees import plant

from tritonwin.facts.records import Compiler
from tritonwin.facts.toolchain.compilers import find_compilers


def find(
    tmp: Path, env: Mapping[str, str] | None = None, *, windows: bool = True
) -> list[Compiler]:
    found = find_compilers(rooted(tmp), fake_host(tmp, env, windows=windows))
    assert sum(c.chosen for c in found) <= 1
    return list(found)


def on_path(tmp: Path, *files: str) -> dict[str, str]:
    plant(tmp, *files)
    return {"PATH": ";".join(dict.fromkeys(str((tmp / f).parent) for f in files))}


def test_nothing_anywhere(tmp_path: Path) -> None:
    assert find(tmp_path) == []
    assert find_compilers(None, fake_host(tmp_path)) == ()


def test_order_is_tritons(tmp_path: Path) -> None:
    site = tmp_path / "Lib/site-packages"
    plant(site, "_rocm_sdk_core/lib/llvm/bin/clang-cl.exe", "triton/runtime/tcc/tcc.exe")
    plant(tmp_path / "VC/Tools/MSVC/14.44.1/bin/Hostx64/x64", "cl.exe")
    programs = ("a/zig.exe", "a/clang.exe", "a/clang-cl.exe", "a/gcc.exe", "a/cl.exe")
    env = on_path(tmp_path, *programs)
    env |= {"VCINSTALLDIR": str(tmp_path / "VC"), "VCToolsVersion": "14.44.1"}
    plant(tmp_path, "my/gcc.exe")
    env["CC"] = str(tmp_path / "my" / "gcc.exe")
    found = find(tmp_path, env)
    assert [(c.family, c.source) for c in found] == [
        ("gcc", "variable CC"),
        ("clang-cl", "ROCm wheels"),
        ("cl", "activated Visual Studio prompt"),
        ("tinycc", "bundled with Triton"),
        ("cl", "PATH"),
        ("gcc", "PATH"),
        ("clang", "PATH"),
        ("clang-cl", "PATH"),
        ("zig", "PATH"),
    ]
    assert [c.chosen for c in found] == [True] + [False] * 8


@pytest.mark.parametrize(
    ("programs", "chosen"),
    [
        (("b/gcc.exe", "a/cl.exe"), "cl"),
        (("a/clang.exe", "b/gcc.exe"), "gcc"),
        (("a/clang-cl.exe", "b/clang.exe"), "clang"),
        (("a/clang-cl.exe", "b/zig.exe"), None),
    ],
)
def test_choice_among_programs_on_path(
    tmp_path: Path, programs: tuple[str, ...], chosen: str | None
) -> None:
    found = find(tmp_path, on_path(tmp_path, *programs))
    assert len(found) == len(programs)
    assert next((c.family for c in found if c.chosen), None) == chosen


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("VC/Tools/MSVC/14.44.1/bin/Hostx64/x64", "x64"),
        ("VC/Tools/MSVC/14.44.1/bin/Hostx64/x86", "x86"),
        ("VC/Tools/MSVC/14.44.1/bin/HostX86/X64", "x64"),
        ("VC/bin", "x86"),
        ("VC/bin/amd64", "x64"),
        ("wrappers", None),
    ],
)
def test_target_of_cl(tmp_path: Path, folder: str, expected: str | None) -> None:
    (found,) = find(tmp_path, on_path(tmp_path, f"{folder}/cl.exe"))
    assert found.target == expected


def test_tinycc_in_the_users_site_is_not_looked_for(tmp_path: Path) -> None:
    system, user = tmp_path / "Lib/site-packages", tmp_path / "user/site-packages"
    plant(user, "triton/runtime/tcc/tcc.exe")
    both = replace(rooted(tmp_path), site_packages=(str(user), str(system)), platlib=str(system))
    assert find_compilers(both, fake_host(tmp_path)) == ()
    (tinycc,) = find_compilers(replace(both, platlib=str(user)), fake_host(tmp_path))
    assert tinycc.chosen


def test_the_editor_is_no_compiler(tmp_path: Path) -> None:
    assert find(tmp_path, on_path(tmp_path, "Microsoft VS Code/bin/code.cmd", "x/Code.exe")) == []


def test_planted_program_in_the_current_folder(tmp_path: Path) -> None:
    plant(tmp_path, "cl.exe", "gcc.exe")
    assert find(tmp_path, {"PATH": ".;;"}) == []


@pytest.mark.parametrize(
    ("value", "family", "flaw"),
    [
        pytest.param("{}/bin/gcc.exe", "gcc", None, id="program"),
        pytest.param("{}/bin/gcc", "gcc", None, id="without-exe"),
        pytest.param("{}/bin/x86_64-w64-mingw32-gcc.exe", "gcc", None, id="triple"),
        pytest.param("{}/bin/clang-cl.exe", "clang-cl", None, id="clang-cl"),
        pytest.param("{}/bin/tcc.exe", "tinycc", None, id="tcc"),
        pytest.param("{}/bin/ccache.exe", "unknown", None, id="wrapper"),
        pytest.param("{}/bin", "unknown", "folder", id="folder"),
        pytest.param("{}/bin/cl.exe", "cl", "missing", id="gone"),
        pytest.param("{0}/bin/gcc.exe;{0}/bin/tcc.exe;", "unknown", "missing", id="list"),
        pytest.param('"{}/bin/gcc.exe"', "gcc", "missing", id="quotes"),
        pytest.param("nowhere-gcc", "gcc", "missing", id="name-not-on-path"),
        pytest.param("gcc -O2", "gcc", "missing", id="arguments"),
    ],
)
def test_cc_is_taken_as_it_stands(
    tmp_path: Path, value: str, family: str, flaw: str | None
) -> None:
    names = ("gcc", "x86_64-w64-mingw32-gcc", "clang-cl", "tcc", "ccache")
    plant(tmp_path / "bin", *(f"{name}.exe" for name in names))
    plant(tmp_path / "Lib/site-packages/triton/runtime/tcc", "tcc.exe")
    found = find(tmp_path, {"CC": value.format(tmp_path)})
    first, bundled = found
    assert (first.source, first.flaw, first.chosen) == ("variable CC", flaw, True)
    if value.startswith("{}/") or flaw is None:
        assert first.family == family
    assert (bundled.family, bundled.chosen) == ("tinycc", False)


@pytest.mark.parametrize("value", ["gcc", "gcc.exe"])
def test_cc_as_a_name_on_path(tmp_path: Path, value: str) -> None:
    env = on_path(tmp_path, "mingw/bin/gcc.exe")
    (found,) = find(tmp_path, {**env, "CC": value})
    assert (found.source, found.path, found.flaw) == (
        "variable CC",
        str(tmp_path / "mingw/bin/gcc.exe"),
        None,
    )


@pytest.mark.parametrize("value", ["", "  "])
def test_empty_cc_is_no_cc(tmp_path: Path, value: str) -> None:
    assert find(tmp_path, {"CC": value}) == []


@pytest.mark.skipif(os.name == "nt", reason="a drive's colon would end the entry of PATH")
def test_linux(tmp_path: Path) -> None:
    plant(tmp_path / "bin", "gcc", "clang")
    plant(tmp_path / "Lib/site-packages/_rocm_sdk_core/lib/llvm/bin", "clang-cl.exe")
    found = find(tmp_path, {"PATH": f"{tmp_path / 'bin'}:relative"}, windows=False)
    assert [(c.family, c.chosen) for c in found] == [("gcc", True), ("clang", False)]
