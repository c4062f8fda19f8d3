from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installed import target
from trees import write

from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.packages import knowledge, search_path


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
