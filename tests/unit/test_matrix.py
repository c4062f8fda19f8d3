"""The table of what fits what."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tritonwin.support import matrix, packages, versions
from tritonwin.support.matrix import indexes, torch_tag

M = matrix.load()


@pytest.mark.parametrize(
    ("torch", "triton", "windows"),
    [
        ("2.4.1+cu124", "3.0", "3.1"),
        ("2.7.1+cu128", "3.3", "3.3"),
        ("2.10.0", "3.6", "3.6"),
        ("2.15.0+cu132", "3.9", None),
        ("2.9.0.dev20250901", "3.5", "3.5"),
    ],
)
def test_pairs(torch: str, triton: str, windows: str | None) -> None:
    pair = M.pair(torch)
    assert (pair.triton, pair.windows) == (triton, windows)


@pytest.mark.parametrize("version", ["2.3.1", "nonsense", "", "99"])
def test_no_pair(version: str) -> None:
    assert M.pair(version) is None


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ("6.1", "Pascal or older"),
        ("7.0", "Volta"),
        ("7.5", "Turing"),
        ("8.6", "Ampere"),
        ("8.9", "Ada"),
        ("9.0", "Hopper"),
        ("10.0", "Blackwell"),
        ("12.1", "Blackwell"),
    ],
)
def test_generations(capability: str, name: str) -> None:
    generation = M.generation(capability)
    assert generation.name == name


def test_generations_leave_no_gap() -> None:
    for older, newer in zip(M.generations, M.generations[1:], strict=False):
        assert older.below == newer.start


def test_every_windows_series_is_a_release() -> None:
    series = {r.series for r in M.releases}
    assert {p.windows for p in M.pairs if p.windows} <= series
    assert all(versions.series(r.newest) == r.series for r in M.releases)


@pytest.mark.parametrize(
    ("cuda", "toolset", "fits"),
    [
        ("12.1", "14.39.33519", True),
        ("12.1", "14.40.33807", False),
        ("12.8", "14.44.35207", True),
        ("12.8", "14.50.35717", False),
        ("13.0", "14.16.27023", False),
        ("13.2", "14.50.35717", True),
    ],
)
def test_nvcc_and_its_host(cuda: str, toolset: str, fits: bool) -> None:
    rule = M.nvcc_host(cuda)
    assert versions.fits(toolset, rule.msvc) is fits


def test_older_and_fits_are_quiet_about_nonsense() -> None:
    assert versions.older("3.2.0.post9", "3.2.0.post13")
    assert not versions.older("3.2.0.post13", "3.2.0.post13")
    assert not versions.older(None, "1")
    assert not versions.older("nonsense", "1")
    assert not versions.fits("nonsense", ">=1")
    assert not versions.fits("1.0", "nonsense")


def test_torch_tags() -> None:
    assert torch_tag("13.1", "9.0") == "cu130"
    assert torch_tag("12.2", None) == "cu129"
    assert torch_tag("11.8", "8.0") is None
    assert torch_tag(None, "8.0") is None
    assert indexes().torch.startswith("https://")
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


def test_dtypes_agree_with_generations() -> None:
    for generation in M.generations:
        for dtype, has in (("bf16", generation.bf16), ("fp8e4nv", generation.fp8)):
            below = versions.older(generation.start, M.dtype(dtype).capability)
            assert has is not below, (generation.name, dtype)


def test_every_range_can_be_read() -> None:
    ranges = [h.cuda for h in M.nvcc_hosts] + [h.msvc for h in M.nvcc_hosts]
    ranges += [tag.capability for tag in indexes().torch_tags]
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
