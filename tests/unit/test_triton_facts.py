from __future__ import annotations

from pathlib import Path

import pytest
from installed import install, target
from pe_files import pe_file
from trees import write

from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.records import Triton
from tritonwin.facts.torch_triton import read_triton
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate

BANNER = b"\0\0Cuda compilation tools, release 12.8, V12.8.93\0"
FORK: dict[str, str | bytes] = {
    "triton/__init__.py": '"""docs"""\n__version__ = \'3.5.1\'\n',
    "triton/windows_utils.py": "import winreg\n",
    "triton/_C/libtriton.pyd": pe_file("python312.dll", "MSVCP140.dll"),
    "triton/backends/amd/driver.py": "",
    "triton/backends/nvidia/driver.py": "",
    "triton/backends/nvidia/bin/ptxas.exe": bytes(5000) + BANNER + bytes(5000),
    "triton/backends/nvidia/include/cuda.h": "/* */\n#define CUDA_VERSION 12080\n",
    "triton/backends/nvidia/lib/x64/cuda.lib": b"!<arch>",
    "triton/runtime/build.py": 'import os\nif os.name == "nt":\n    pass\n',
    "triton/runtime/tcc/tcc.exe": b"MZ",
    "triton/runtime/tcc/lib/python312.def": "",
}


def seen(site: Path, **fields: object) -> Triton | None:
    python = target(site, **fields)
    return read_triton(python, read_distributions(python))


def read(site: Path, **fields: object) -> Triton:
    found = seen(site, **fields)
    assert found is not None
    return found


def test_the_fork_with_everything_bundled(tmp_path: Path) -> None:
    install(tmp_path, "triton-windows", "3.5.1.post24", FORK)
    found = read(tmp_path)
    package = tmp_path / "triton"
    assert (found.version, found.flavour, found.distribution) == ("3.5.1", "fork", "triton-windows")
    assert found.location == str(package)
    assert found.libtriton == str(package / "_C" / "libtriton.pyd")
    assert found.libtriton_imports == ("python312.dll", "MSVCP140.dll")
    assert found.libtriton_linker == "14.0"
    assert found.ptxas_version == "12.8"
    assert found.ptxas_blackwell is None
    assert found.tinycc == str(package / "runtime/tcc/tcc.exe")
    assert found.tinycc_python_def is True
    assert (found.for_windows, found.patched) == (True, False)
    assert found.namespace is False


@pytest.mark.parametrize("style", ["path", "finder"])
def test_an_editable_install_owns_a_source_folder(tmp_path: Path, style: str) -> None:
    source = tmp_path / "src" / "python"
    write(source, FORK)
    site = tmp_path / "site"
    info = install(site, "triton-windows", "3.8.0", {})
    mapping = {"other": "C:\\x", "triton": str(source / "triton")}
    write(
        site,
        {
            f"{info.name}/direct_url.json": '{"dir_info": {"editable": true}, "url": "file:///x"}',
            "__editable___triton_windows_3_8_0_finder.py": f"MAPPING: dict[str, str] = {mapping!r}\n",
        },
    )
    more = {"sys_path": (str(site), str(source))} if style == "path" else {}
    found = read(site, **more)
    assert (found.location, found.distribution) == (str(source / "triton"), "triton-windows")
    assert not found.namespace


@pytest.mark.parametrize(
    "mapping", ["", "{", "{'triton': 3}", "{'triton': '/gone'}", "{x: 1}", "{[]: 1}", "{1}", "[]"]
)
def test_a_finder_that_maps_nothing(tmp_path: Path, mapping: str) -> None:
    write(tmp_path, {"__editable___x_finder.py": f"MAPPING = {mapping}\n"})
    assert seen(tmp_path) is None


@pytest.mark.parametrize(
    ("fields", "build", "has"),
    [
        ({"version": "3.13.2"}, "", False),
        ({"free_threaded": True}, "", False),
        ({}, 'libraries += ["python3"]\n', False),
        ({"version": None}, "", None),
    ],
)
def test_the_definition_file_for_tinycc(
    tmp_path: Path, fields: dict[str, object], build: str, has: bool | None
) -> None:
    install(tmp_path, "triton-windows", "3.5.1", {**FORK, "triton/runtime/build.py": build})
    found = read(tmp_path, **fields)
    assert found.tinycc_python_def is has


def test_upstream_without_a_windows_binary(tmp_path: Path) -> None:
    files = {
        "triton/__init__.py": "__version__ = '3.9.0'\n",
        "triton/_C/libtriton.so": b"\x7fELF",
        "triton/runtime/build.py": "",
    }
    install(tmp_path, "triton", "3.9.0", files)
    found = read(tmp_path)
    assert (found.flavour, found.distribution) == ("upstream", "triton")
    assert found.libtriton == str(tmp_path / "triton" / "_C" / "libtriton.so")
    assert (found.ptxas, found.tinycc, found.tinycc_python_def) == (None, None, None)


def test_of_two_distributions_the_one_that_describes_the_files_owns_them(tmp_path: Path) -> None:
    install(tmp_path, "triton-windows", "3.5.1.post24", FORK)
    install(tmp_path, "triton", "3.6.0", {"triton/__init__.py": "__version__ = '3.6.0'\n"})
    found = read(tmp_path)
    assert (found.version, found.distribution) == ("3.6.0", "triton")


def test_what_an_uninstall_left_is_told_from_a_package(tmp_path: Path) -> None:
    write(tmp_path, {"triton/backends/nvidia/driver.py.orig": ""})
    found = read(tmp_path)
    assert (found.namespace, found.version, found.flavour) == (True, None, "unknown")


def test_no_triton(tmp_path: Path) -> None:
    assert seen(tmp_path) is None


HOOK = generate(RuleChoice())
UNPATCHED = {
    "triton/__init__.py": "",
    "triton/runtime/build.py": 'cc_cmd = [cc, src, "-shared", "-fPIC"]\n',
    "triton/backends/nvidia/driver.c": "#include <dlfcn.h>\n",
}


def test_the_import_hook_takes_the_defects_away(tmp_path: Path) -> None:
    write(tmp_path, {**UNPATCHED, **HOOK})
    found = read(tmp_path)
    assert found.import_hook == str(tmp_path / "_tritonwin_hook.py")
    assert found.defects == ()


def test_a_hook_that_was_cut_short_takes_nothing_away(tmp_path: Path) -> None:
    half = {name: content[: len(content) // 2] for name, content in HOOK.items()}
    write(tmp_path, {**UNPATCHED, **half})
    found = read(tmp_path)
    assert (found.import_hook, found.python_driver) == (None, None)
    assert "dlfcn" in found.defects


@pytest.mark.parametrize("missing", HOOK)
def test_a_hook_that_is_never_started_changes_nothing(tmp_path: Path, missing: str) -> None:
    write(tmp_path, {**UNPATCHED, **HOOK})
    (tmp_path / missing).unlink()
    found = read(tmp_path)
    assert found.import_hook is None
    assert "dlfcn" in found.defects
