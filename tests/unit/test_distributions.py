from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installed import install, target
from trees import write

from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.packages import find_package, knowledge, search_path

TRITON = {
    "triton/__init__.py": "__version__ = '3.5.1'\n",
    "triton/runtime/build.py": "import os\n",
    "triton/_C/libtriton.pyd": b"MZ",
    "triton/language/core.py": "x = 1\n",
}


def test_a_distribution_that_matters_is_read_in_full(tmp_path: Path) -> None:
    info = install(
        tmp_path,
        "torch",
        "2.9.1+cu128",
        requires=['triton==3.5.1; sys_platform == "linux"', "sympy"],
    )

    (found,) = read_distributions(target(tmp_path))

    assert found.name == "torch"
    assert found.version == "2.9.1+cu128"
    assert found.location == str(info)
    assert found.site_packages == str(tmp_path)
    assert found.tags == ("cp312-cp312-win_amd64",)
    assert found.installer == "pip"
    assert found.requires == ('triton==3.5.1; sys_platform == "linux"',)


def test_any_package_that_demands_triton_is_seen(tmp_path: Path) -> None:
    install(
        tmp_path, "some-node", "1.0", requires=["triton>=3", "requests", 'torch; extra == "gpu"']
    )

    (found,) = read_distributions(target(tmp_path))

    assert found.requires == ("triton>=3",)
    assert found.tags == ()


@pytest.mark.parametrize(
    ("entry", "name", "version"),
    [
        ("triton_windows-3.8.0.post29.dist-info", "triton-windows", "3.8.0.post29"),
        ("Flash_Attn-2.8.3+cu128torch2.9.dist-info", "flash-attn", "2.8.3+cu128torch2.9"),
        ("ruamel.yaml-0.18.6-py3.12.egg-info", "ruamel-yaml", "0.18.6"),
        ("sageattention.egg-info", "sageattention", ""),
    ],
)
def test_name_and_version_of_a_folder(tmp_path: Path, entry: str, name: str, version: str) -> None:
    (tmp_path / entry).mkdir()

    (found,) = read_distributions(target(tmp_path))

    assert (found.name, found.version) == (name, version)


@pytest.mark.parametrize("entry", ["~orch-2.9.1.dist-info", "torch", "notes-1.0.dist-info.bak"])
def test_other_entries_are_no_distributions(tmp_path: Path, entry: str) -> None:
    (tmp_path / entry).mkdir()

    assert read_distributions(target(tmp_path)) == ()


def test_an_egg_info_file_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"xformers-0.0.20.egg-info": "Name: xformers\nVersion: 0.0.20\nRequires-Dist: torch\n\n"},
    )

    (found,) = read_distributions(target(tmp_path))

    assert (found.version, found.requires) == ("0.0.20", ("torch",))
    assert found.missing_files == ()


def test_the_metadata_says_the_version_where_the_folder_escapes_it(tmp_path: Path) -> None:
    write(tmp_path, {"torch-2.9.1_cu128.dist-info/METADATA": "Version: 2.9.1+cu128\n\n"})

    (found,) = read_distributions(target(tmp_path))

    assert found.version == "2.9.1+cu128"


def test_two_of_a_name_are_both_given_in_path_order(tmp_path: Path) -> None:
    install(tmp_path / "user", "torch", "2.7.0")
    install(tmp_path / "site", "torch", "2.9.1")
    install(tmp_path / "site", "torch", "2.8.0")

    found = read_distributions(target(tmp_path / "site", sys_path=(str(tmp_path / "user"),)))

    assert [d.version for d in found] == ["2.7.0", "2.8.0", "2.9.1"]


def test_a_whole_triton_lacks_and_alters_nothing(tmp_path: Path) -> None:
    install(tmp_path, "triton-windows", "3.5.1.post24", TRITON)

    (found,) = read_distributions(target(tmp_path))

    assert (found.missing_files, found.altered_files) == ((), ())


def test_missing_and_altered_key_files_are_named(tmp_path: Path) -> None:
    install(tmp_path, "triton-windows", "3.5.1.post24", TRITON)
    (tmp_path / "triton/_C/libtriton.pyd").unlink()
    write(
        tmp_path, {"triton/runtime/build.py": "import sys\n", "triton/language/core.py": "x = 2\n"}
    )

    (found,) = read_distributions(target(tmp_path))

    assert found.missing_files == ("triton/_C/libtriton.pyd",)
    assert found.altered_files == ("triton/runtime/build.py",)


@pytest.mark.parametrize(("content", "cut"), [(b"MZ another", False), (b"M", True), (b"", True)])
def test_binaries_are_not_hashed_but_weighed(tmp_path: Path, content: bytes, cut: bool) -> None:
    install(tmp_path, "triton-windows", "3.5.1.post24", TRITON)
    write(tmp_path, {"triton/_C/libtriton.pyd": content})

    (found,) = read_distributions(target(tmp_path))

    assert found.altered_files == ()
    assert found.cut_files == (("triton/_C/libtriton.pyd",) if cut else ())


@pytest.mark.parametrize("removed", ["RECORD", "METADATA"])
def test_damaged_metadata_is_named(tmp_path: Path, removed: str) -> None:
    info = install(tmp_path, "triton-windows", "3.5.1.post24", TRITON)
    (info / removed).unlink()

    (found,) = read_distributions(target(tmp_path))

    assert (found.missing_files, found.version) == ((removed,), "3.5.1.post24")


def test_an_absent_folder_holds_nothing(tmp_path: Path) -> None:
    assert read_distributions(target(tmp_path / "absent")) == ()


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_no_metadata_makes_it_fail(
    tmp_path_factory: pytest.TempPathFactory, a: bytes, b: bytes
) -> None:
    site = tmp_path_factory.mktemp("site")
    write(site, {"triton-3.dist-info/METADATA": a, "triton-3.dist-info/RECORD": b})

    (found,) = read_distributions(target(site))

    assert found.name == "triton"
    shutil.rmtree(site)


def test_every_key_file_belongs_to_a_package_that_matters() -> None:
    known = knowledge()

    assert all(known.matters(name) for name in [*known.key_files, *known.extensions, *known.triton])


def test_the_search_path_has_each_folder_once_in_order(tmp_path: Path) -> None:
    folders = [str(tmp_path / name) for name in "abc"]
    python = target(
        tmp_path / "c", tmp_path / "b" / ".", sys_path=(folders[0], folders[1], "", folders[0])
    )

    assert [str(p) for p in search_path(python)] == folders


def test_a_real_package_wins_over_an_earlier_folder_without_init(tmp_path: Path) -> None:
    (tmp_path / "first" / "triton").mkdir(parents=True)
    write(tmp_path / "second", {"triton/__init__.py": ""})

    found = find_package(target(tmp_path / "first", tmp_path / "second"), "triton")

    assert (found.path, found.namespace) == (tmp_path / "second" / "triton", False)
