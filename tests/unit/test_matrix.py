"""The table of what fits what."""

from __future__ import annotations

import pytest
from cases import cases
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tritonwin.support import matrix, packages, versions
from tritonwin.support.matrix import torch_tags

M = matrix.load()


@pytest.mark.parametrize(("torch", "triton", "windows"), cases("matrix.toml", "pairs"))
def test_pairs(torch: str, triton: str, windows: str) -> None:
    pair = M.pair(torch)
    assert ((pair.triton, pair.windows or "") if pair else ("", "")) == (triton, windows)


@pytest.mark.parametrize(("capability", "name"), cases("matrix.toml", "generations"))
def test_generations(capability: str, name: str) -> None:
    assert M.generation(capability).name == name


def test_generations_leave_no_gap() -> None:
    for older, newer in zip(M.generations, M.generations[1:], strict=False):
        assert older.below == newer.start


def test_every_windows_series_is_a_release() -> None:
    series = {r.series for r in M.releases}
    assert {p.windows for p in M.pairs if p.windows} <= series
    assert all(versions.series(r.newest) == r.series for r in M.releases)


def test_older_and_fits_are_quiet_about_nonsense() -> None:
    assert versions.older("3.2.0.post9", "3.2.0.post13")
    assert not versions.older("3.2.0.post13", "3.2.0.post13")
    assert not versions.older(None, "1")
    assert not versions.older("nonsense", "1")
    assert not versions.fits("nonsense", ">=1")
    assert not versions.fits("1.0", "nonsense")


def test_torch_tags() -> None:
    assert torch_tags("13.1", "9.0")[0] == "cu130"
    assert torch_tags("12.2", None)[0] == "cu129"
    assert torch_tags("11.8", "8.0") == torch_tags(None, "8.0") == ()
    assert M.torch_index.startswith("https://")
    assert Version(M.newest_release().series) >= Version("3.8")


def test_no_series_of_torch_is_left_out() -> None:
    known = {p.torch for p in M.pairs}
    newest = max(known, key=Version)
    assert {f"2.{minor}" for minor in range(4, Version(newest).minor + 1)} <= known


def test_every_row_says_where_it_is_from() -> None:
    rows = (*M.pairs, *M.releases, *M.generations, *M.nvcc_hosts, *M.dtypes, *M.notes)
    assert all(row.source.strip() for row in rows)


def test_old_generations_say_what_still_works() -> None:
    assert all(g.advice for g in M.generations if g.triton is None or g.triton_partly)


@pytest.mark.parametrize("subject", ["AMD", "Intel", "ARM64", "free-threaded", "Proton"])
def test_notes(subject: str) -> None:
    assert any(subject in note.subject for note in M.notes)


def test_every_range_can_be_read() -> None:
    ranges = [h.cuda for h in M.nvcc_hosts] + [h.msvc for h in M.nvcc_hosts]
    ranges += [tag.capability for tag in M.torch_tags]
    ranges += [
        r
        for g in M.generations
        for r in (g.triton, g.triton_partly, g.torch, g.cuda)
        if r is not None
    ]
    for package in packages.load().values():
        ranges += [r for k in package.kernels for r in (k.gpu, k.cuda, k.version)]
        ranges += [package.capability] if package.capability else []
    assert len(ranges) > 30
    for text in ranges:
        SpecifierSet(text)
