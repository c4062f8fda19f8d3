from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import fake_host
from pe_files import pe_file
from pe_version import versioned
from trees import write

from tritonwin.cli import app
from tritonwin.facts.dlls.loading import Loading, dll_tree
from tritonwin.facts.dlls.tree import faults, origin
from tritonwin.system.host import Host

MODULE = "py/Lib/site-packages/pkg/mod.pyd"
SYSTEM = "windows/System32/KERNEL32.dll"
PYTHON = {
    "py/python.exe": pe_file("python312.dll", "VCRUNTIME140.dll"),
    "py/python312.dll": pe_file(exports=["PyModule_Create2"]),
    "py/vcruntime140.dll": versioned(pe_file(exports=["memcpy"]), "14.40.33807.0"),
    SYSTEM: pe_file(exports=["CreateFileW"]),
}


def module(
    functions: Mapping[str, Sequence[str | int]], delayed: Mapping[str, Sequence[str | int]] = {}
) -> bytes:
    wanted = {"python312.dll": ["PyModule_Create2"], "KERNEL32.dll": ["CreateFileW"]}
    return pe_file(functions={**wanted, **functions}, delayed=delayed)


def load(tmp_path: Path, files: Mapping[str, str | bytes], **options: Any) -> Loading:
    root = write(tmp_path / "root", {**PYTHON, **files})
    return dll_tree(root / MODULE, Host.this_machine(), root=root, **options)


def test_a_module_that_loads(tmp_path: Path) -> None:
    files = {
        MODULE: module({"helper.dll": ["help", 1], "api-ms-win-crt-heap-l1-1-0.dll": ["malloc"]}),
        "py/Lib/site-packages/pkg/HELPER.dll": pe_file(exports=["help"]),
    }
    found = load(tmp_path, files)
    assert found.loader == "python"
    assert found.tree.loads
    states = {m.name: (m.state, m.found_in) for m in found.tree.modules}
    assert states == {
        "mod.pyd": ("found", "named"),
        "python312.dll": ("found", "program"),
        "KERNEL32.dll": ("found", "system32"),
        "helper.dll": ("found", "file"),
        "api-ms-win-crt-heap-l1-1-0.dll": ("api-set", None),
    }


def test_what_python_loaded_comes_before_a_copy_beside_the_module(tmp_path: Path) -> None:
    files = {
        MODULE: module({"vcruntime140.dll": ["memcpy"]}),
        "py/Lib/site-packages/pkg/vcruntime140.dll": versioned(pe_file(), "14.0.0.0"),
    }
    found = load(tmp_path, files).tree.module("VCRUNTIME140.dll")
    assert found.version == "14.40.33807.0"
    assert (found.found_in, found.preloaded) == ("program", True)


def test_copies_that_windows_ignores(tmp_path: Path) -> None:
    names = ("api-ms-win-crt-heap-l1-1-0.dll", "ucrtbase.dll")
    old = {f"py/Lib/site-packages/pkg/{name}": pe_file(exports=["old"]) for name in names}
    files = {
        MODULE: module({name: ["malloc"] for name in names}),
        "windows/System32/ucrtbase.dll": pe_file(exports=["malloc"]),
    }
    tree = load(tmp_path, {**files, **old}).tree
    assert tree.loads
    found = [tree.module(name) for name in names]
    assert [(m.state, m.found_in) for m in found if m] == [("api-set", None), ("found", "system32")]


# what is seeded, the DLL that has to be named, and words of the sentence
SEEDS: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "missing": ({MODULE: module({"vcruntime140_1.dll": ["f"]})}, "vcruntime140_1.dll", "nowhere"),
    "missing further down": (
        {
            MODULE: module({"torch_cpu.dll": ["f"]}),
            "py/Lib/site-packages/torch/__init__.py": "",
            "py/Lib/site-packages/torch/version.py": "__version__ = '2.9.1'",
            "py/Lib/site-packages/torch/lib/torch_cpu.dll": pe_file(
                functions={"vcruntime140_threads.dll": ["f"]}, exports=["f"]
            ),
        },
        "vcruntime140_threads.dll",
        "which torch_cpu.dll needs",
    ),
    "outdated": (
        {
            MODULE: module({"msvcp140.dll": ["old", "new"]}),
            "py/msvcp140.dll": versioned(pe_file(exports=["old"]), "14.0.24215.1"),
        },
        "msvcp140.dll",
        "14.0.24215.1 lacks a function",
    ),
    "outdated, by number": (
        {MODULE: module({"helper.dll": [9]}), "py/helper.dll": pe_file(exports=["a"])},
        "helper.dll",
        "lacks a function",
    ),
    "of another Python": (
        {MODULE: module({"python311.dll": ["f"]})},
        "python311.dll",
        "found nowhere",
    ),
    "32 bits": (
        {MODULE: module({"helper.dll": []}), "py/helper.dll": pe_file(machine=0x14C)},
        "helper.dll",
        "built for x86",
    ),
    "damaged": (
        {MODULE: module({"helper.dll": []}), "py/helper.dll": "<html>404</html>"},
        "helper.dll",
        "damaged",
    ),
    "on PATH only": (
        {MODULE: module({"cudart64_12.dll": ["f"]}), "tools/cudart64_12.dll": pe_file()},
        "cudart64_12.dll",
        "found nowhere",
    ),
    "the driver": ({MODULE: module({"nvcuda.dll": ["cuInit"]})}, "nvcuda.dll", "found nowhere"),
}


@pytest.mark.parametrize("name", SEEDS)
def test_the_culprit_is_named(tmp_path: Path, name: str) -> None:
    files, culprit, words = SEEDS[name]
    tree = load(tmp_path, files).tree
    assert not tree.loads
    (fault,) = faults(tree)
    assert fault.dll == culprit
    assert words in fault.text
    assert fault.help == origin(culprit)


def test_a_delayed_import_that_is_missing_does_not_keep_it_from_loading(tmp_path: Path) -> None:
    tree = load(tmp_path, {MODULE: module({}, delayed={"gone.dll": ["f"]})}).tree
    assert tree.loads
    gone = tree.module("gone.dll")
    assert (gone.state, gone.delayed) == ("missing", True)


def test_the_folders_that_packages_add(tmp_path: Path) -> None:
    site = "py/Lib/site-packages"
    names = ("a.dll", "b.dll")
    files = {
        MODULE: module({name: ["f"] for name in names}),
        f"{site}/pkg.libs/a.dll": pe_file(exports=["f"]),
        f"{site}/nvidia/cu13/bin/x86_64/b.dll": pe_file(exports=["f"]),
    }
    tree = load(tmp_path, files).tree
    assert [m.found_in for m in tree.modules if m.name in names] == ["libs", "nvidia"]


def test_a_cycle_ends(tmp_path: Path) -> None:
    files = {
        MODULE: module({"a.dll": ["f"]}),
        "py/a.dll": pe_file(functions={"b.dll": ["f"]}, exports=["f"]),
        "py/b.dll": pe_file(functions={"a.dll": ["f"]}, exports=["f"]),
    }
    assert load(tmp_path, files).tree.loads


def test_a_program_finds_what_is_on_path(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "bin/ptxas.exe": pe_file("a.dll", "b.dll"),
            "bin/a.dll": pe_file(exports=["f"]),
            "tools/b.dll": pe_file(exports=["f"]),
            SYSTEM: pe_file(),
        },
    )
    host = fake_host(
        tmp_path, {"PATH": str(tmp_path / "tools"), "SystemRoot": str(tmp_path / "windows")}
    )
    found = dll_tree(tmp_path / "bin" / "ptxas.exe", host)
    assert found.loader == "program"
    places = {m.name: m.found_in for m in found.tree.modules[1:]}
    assert places == {"a.dll": "file", "b.dll": "path"}


def test_an_unpacked_wheel_has_no_python_and_no_system(tmp_path: Path) -> None:
    wheel = write(tmp_path, {"triton/_C/libtriton.pyd": module({"ole32.dll": ["f"]})})
    file = wheel / "triton" / "_C" / "libtriton.pyd"
    tree = dll_tree(file, Host.this_machine(), root=wheel).tree
    assert not tree.system_known
    states = {m.name: m.state for m in tree.modules[1:]}
    expected = {"python312.dll": "missing", "KERNEL32.dll": "system", "ole32.dll": "system"}
    assert states == expected


def test_a_python_outside_the_root_does_not_count(tmp_path: Path) -> None:
    load(tmp_path, {MODULE: module({})})
    empty = tmp_path / "empty"
    empty.mkdir()
    found = dll_tree(tmp_path / "root" / MODULE, Host.this_machine(), root=empty)
    assert found.python is None
    assert [fault.dll for fault in faults(found.tree)] == ["python312.dll"]


def test_a_root_may_be_named_in_a_roundabout_way(tmp_path: Path) -> None:
    load(tmp_path, {MODULE: module({})})
    root = tmp_path / "root" / "py" / ".."
    found = dll_tree(tmp_path / "root" / MODULE, Host.this_machine(), root=root)
    assert found.python == str(tmp_path / "root" / "py" / "python.exe")


def test_more_dlls_than_are_followed(tmp_path: Path) -> None:
    names = [f"d{n}.dll" for n in range(2100)]
    files = {
        MODULE: module({name: ["f"] for name in names}),
        "py/python312.dll": pe_file("helper.dll", exports=["PyModule_Create2"]),
        "py/helper.dll": pe_file(exports=["f"]),
    }
    tree = load(tmp_path, files).tree
    assert {fault.dll for fault in faults(tree)} == set(names)


def command(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    status = app.run(["dlls", *map(str, args)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(tmp_path, SEEDS["outdated"][0])
    root = tmp_path / "root"
    status, out, _ = command(capsys, root / MODULE, "--root", root)
    assert status == 1
    assert "msvcp140.dll  14.0.24215.1, 64 bit, beside python.exe" in out
    assert "lacks new" in out
    assert "help: It belongs to Microsoft's Visual C++ runtime" in out


def test_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(tmp_path, {MODULE: module({})})
    root = tmp_path / "root"
    status, out, _ = command(capsys, root / MODULE, "--root", root, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["schema"] == "tritonwin.dlls/2"
    assert document["loads"] is True
    assert document["loading"]["python"] == str(root / "py" / "python.exe")


def test_a_file_whose_lists_are_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = bytearray(pe_file("a.dll"))
    at = damaged.index(b"a.dll\0")
    damaged[at:] = b"\xff" * (len(damaged) - at)
    file = tmp_path / "bad.dll"
    file.write_bytes(damaged)
    status, out, _ = command(capsys, file)
    assert status == 1
    assert f"error: {file} is damaged (Windows' error 193)" in out
    assert "Everything" not in out
    assert "System32" not in out


def test_what_may_lie_elsewhere_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = write(tmp_path, {"pkg/mod.pyd": module({})})
    status, out, _ = command(capsys, wheel / "pkg" / "mod.pyd", "--root", wheel)
    assert status == 1
    assert "There is no Python around the file: name the one that loads it with --python" in out
    assert "There is no System32 to look into" in out
    _, out, _ = command(capsys, wheel / "pkg" / "mod.pyd")
    assert "There is no Python around the file" in out


@pytest.mark.parametrize(
    ("content", "words"), [(None, "is not a file"), (b"text", "not a program file of Windows")]
)
def test_wrong_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    path = tmp_path / "a.pyd"
    if content:
        path.write_bytes(content)
    status, _, err = command(capsys, path)
    assert status == 2
    assert words in err
    assert "help:" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nvcuda.dll", "NVIDIA's driver"),
        ("VCRUNTIME140_1.dll", "Visual C++"),
        ("python313t.dll", "Python itself"),
        ("c10_cuda.dll", "torch"),
        ("cublasLt64_12.dll", "CUDA"),
        ("libfoo.dll", "brought it along"),
    ],
)
def test_where_dlls_come_from(name: str, words: str) -> None:
    assert words in origin(name)
