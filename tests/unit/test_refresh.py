"""The script that writes matrix.toml and known_wheels.toml, held to an index made here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import refresh

from tritonwin.support import lists, matrix
from tritonwin.support.links import read_list
from tritonwin.support.lists import ListTable
from tritonwin.support.matrix import PairTable
from tritonwin.system import toml
from tritonwin.system.codec import from_json
from tritonwin.system.toml import read_resource

ROOT = Path(__file__).resolve().parents[2]


def links(*names: str) -> dict[str, list[refresh.WheelLink]]:
    return refresh.newest_by_series(
        read_list("\n".join(f"https://example.org/{n}" for n in names), "", "test")
    )


def test_newest_final_release_of_each_series() -> None:
    found = links(
        "triton_windows-3.8.0.post28-cp312-cp312-win_amd64.whl",
        "triton_windows-3.8.0.post29-cp312-cp312-win_amd64.whl",
        "triton_windows-3.8.0.post29-cp313-cp313-win_arm64.whl",
        "triton_windows-3.10.0-cp313-cp313-win_amd64.whl",
        "triton_windows-3.11.0rc1-cp313-cp313-win_amd64.whl",
        "triton_windows-nonsense.whl",
    )
    assert list(found) == ["3.8", "3.10"]
    row = refresh.release(found["3.8"], "12.9", "test")
    assert (row.series, row.newest) == ("3.8", "3.8.0.post29")
    assert row.pythons == ("3.12", "3.13")
    assert row.platforms == ("win_amd64", "win_arm64")


@pytest.mark.parametrize(
    ("line", "series"),
    [
        ('Requires-Dist: triton==3.5.1; platform_system == "Linux"', "3.5"),
        ("Requires-Dist: pytorch-triton (==3.0.0)", "3.0"),
        ("Requires-Dist: sympy", None),
        ("Requires-Dist: not a requirement ===", None),
        ("triton==3.5.1", None),
    ],
)
def test_what_torch_asks_for(line: str, series: str | None) -> None:
    assert refresh.wanted_triton(f"Name: torch\n{line}\n\nText") == series


@pytest.mark.parametrize(("triton", "windows"), [("3.5", "3.5"), ("3.0", "3.1"), ("3.9", None)])
def test_pairs(triton: str, windows: str | None) -> None:
    row = refresh.pair("2.9", triton, {"3.1", "3.5"})
    assert row.windows == windows
    assert ("no triton-windows" in row.source) is (windows is None)


def test_missing_rows_are_named() -> None:
    known = matrix.load()
    newest = known.newest_release()
    torch = [p.torch for p in known.pairs]
    windows = [r.newest for r in known.releases]
    assert refresh.missing(known, ["2.3", *torch], windows) == []
    assert refresh.missing(known, [*torch, "2.99"], windows) == ["torch 2.99 has no row"]
    assert refresh.missing(known, torch, [*windows, "9.0.0"]) == ["triton-windows 9.0 has no row"]
    assert refresh.missing(known, torch, [f"{newest.series}.99"]) == [
        f"triton-windows {newest.series}.99 is newer than {newest.newest}"
    ]


def test_a_new_cuda_of_torch_is_named() -> None:
    page = '<a href="cu118/">cu118</a><a href="/whl/cu130/">x</a><a href="/whl/cu135">y</a>'
    assert refresh.unknown_tags(page, ("cu124", "cu130")) == ["torch has an index cu135"]


def test_what_is_written_is_the_shipped_file_and_reads_back() -> None:
    known = matrix.load()
    table = PairTable(data_date=known.data_date, pairs=known.pairs, releases=known.releases)
    text = refresh.render(refresh._MATRIX_HEAD, table)
    assert text == refresh.MATRIX.read_text(encoding="utf-8")
    assert from_json(PairTable, toml.loads(text), strict=True) == table
    wheels = refresh.render(refresh._WHEELS_HEAD, lists.known_wheels())
    assert wheels == (refresh.SUPPORT / "known_wheels.toml").read_text(encoding="utf-8")


def test_a_wheel_of_a_list_stands_under_its_place() -> None:
    base = "https://github.com/woct0rdho/SageAttention/releases/download/v1/"
    names = (
        "sageattention-2.2.0-cp39-abi3-win_amd64.whl",
        "sageattention-2.2.0-cp39-abi3-linux.whl",
    )
    links = read_list("\n".join(f"{base}{name}" for name in names), "", "test")
    table = read_resource("tritonwin.support", "lists.toml", ListTable)
    (group,) = refresh.known_wheels(links, table, "2026-01-02").groups
    assert (group.base, group.files) == (base, names[:1])


@pytest.mark.full
def test_the_index_has_nothing_that_the_table_lacks() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "refresh.py"), "matrix", "--check"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
