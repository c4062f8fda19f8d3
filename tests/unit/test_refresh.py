"""The script that writes matrix.toml and known_wheels.toml, held to an index made here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import refresh

from tritonwin.support import lists, matrix
from tritonwin.support.matrix import PairTable
from tritonwin.system import toml
from tritonwin.system.codec import from_json

ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.full
def test_the_index_has_nothing_that_the_table_lacks() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "refresh.py"), "matrix", "--check"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
