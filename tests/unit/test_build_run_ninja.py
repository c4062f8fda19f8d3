"""What ninja says and writes down."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest
from hosts import fake_host
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.build import ninja
from tritonwin.build.attempt import remaining
from tritonwin.build.heavy_first import reordered
from tritonwin.build.ninja import Counter

LOG = """# ninja log v6
0\t1520\t1764000000000000000\ta.o\t5d41402abc4b2a76
12\t2500\t1764000000000000001\tsub/b.o\tb9719d911017c592
20\t9000\t1764000000000000002\ta.o\t5d41402abc4b2a76
30\t31
"""


def fed(*lines: str, before: int = 0, planned: int | None = None) -> Counter:
    counter = Counter(before=before, planned=planned)
    for line in lines:
        counter.feed(line)
    return counter


def steps(count: int, of: int) -> list[str]:
    return [f"[{n}/{of}] nvcc -c x.cu" for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("lines", "before", "planned", "done", "total"),
    [
        ([], 0, None, 0, None),
        ([], 0, 73, 0, 73),
        (steps(5, 73), 0, 73, 5, 73),
        (["  [1/3] nvcc -c x.cu", "  FAILED: [code=1] x.o", "  [2/3] y"], 0, None, 1, 3),  # by pip
        (steps(5, 63), 10, 73, 15, 73),  # a resumed run counts what is left
        (steps(5, 63), 10, None, 15, 73),
        ([*steps(3, 3), *steps(2, 8)], 0, None, 5, 11),  # two extensions, a ninja each
        ([*steps(3, 3), *steps(3, 3)], 0, None, 6, 6),
        (["[2/9] x", "FAILED: [code=9] a.o ", "[3/9] y"], 0, None, 2, 9),
        (["FAILED: a.o b.o", "          [1/2] indented", "[x/2]"], 0, None, -1, None),
    ],
)
def test_steps_over_several_runs(
    lines: list[str], before: int, planned: int | None, done: int, total: int | None
) -> None:
    counter = fed(*lines, before=before, planned=planned)
    assert counter.total == total
    assert counter.done == max(done, 0)


def test_what_failed() -> None:
    counter = fed("FAILED: [code=9] build/a.o ", "FAILED: old/b.o c.o")
    assert counter.failed == ["build/a.o", "old/b.o", "c.o"]


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.integers(0, 50),
)
def test_progress_never_runs_backwards_or_past_the_end(ninjas: list[int], before: int) -> None:
    counter, last = Counter(before=before), before
    for of in ninjas:
        for line in steps(of, of):
            counter.feed(line)
            assert last < counter.done <= (counter.total or 0)
            last = counter.done
    assert counter.done == before + sum(ninjas) == counter.total


@given(st.text(max_size=200))
def test_any_line_can_be_fed(line: str) -> None:
    assert fed(line).done >= 0
    assert isinstance(ninja.read_log(line), dict)


def test_the_last_run_of_a_step_counts() -> None:
    edges = ninja.read_log(LOG)
    assert set(edges) == {"a.o", "sub/b.o"}
    assert (edges["a.o"].start, edges["a.o"].end) == (0.02, 9.0)


def test_finished_is_what_is_noted_and_there(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.ninja_log").write_text(LOG)
    assert ninja.finished(tmp_path) == {}
    (tmp_path / "x/a.o").touch()
    assert list(ninja.finished(tmp_path)) == [tmp_path / "x/a.o"]


def elf(size: int, sections: int, count: int) -> bytes:
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 40, sections)
    struct.pack_into("<HH", head, 58, 64, count)
    return bytes(head).ljust(size, b"\0")


def coff(size: int, symbols: int, count: int) -> bytes:
    return struct.pack("<HHIIIHH", 0x8664, 3, 0, symbols, count, 0, 0).ljust(size, b"\0")


@pytest.mark.parametrize(
    ("name", "content", "whole"),
    [
        ("a.o", elf(1000, 680, 5), True),
        ("a.o", elf(999, 680, 5), False),
        ("a.o", b"\x7fELF", False),
        ("a.o", b"", False),
        ("a.obj", coff(1000, 100, 50), True),
        ("a.obj", coff(999, 100, 50), False),
        ("a.obj", b"", False),
        ("a.obj", struct.pack("<HH", 0, 0xFFFF).ljust(56, b"\0"), True),
        ("a.lib", b"", True),  # no object: none of our business
    ],
)
def test_objects_that_are_cut_short(tmp_path: Path, name: str, content: bytes, whole: bool) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert ninja.is_whole(path) is whole
    assert ninja.remove_damaged([path]) == (() if whole else (path,))
    assert path.exists() is whole


@pytest.mark.parametrize(
    ("lines", "jobs", "seconds", "left"),
    [
        ([], 4, 10, None),
        (steps(4, 8), 4, 10, 10 * 2 / 6),  # four done, four half done
        (steps(8, 8), 4, 10, 0),
        (steps(1, 73), 16, 100, 100 * 64 / 9),
    ],
)
def test_remaining_time(lines: list[str], jobs: int, seconds: float, left: float | None) -> None:
    assert remaining(fed(*lines), jobs, seconds) == left


FILE = """ninja_required_version = 1.3
rule compile
  command = cxx $in $out

build /b/flash_attn/api.o: compile /s/flash_attn/flash_api.cpp
build /b/flash_bwd_1.o: nvcc /s/flash_bwd_1.cu
build /b/flash_fwd_1.o: nvcc /s/flash_fwd_1.cu
build /b/flash_fwd_split_1.o: nvcc /s/flash_fwd_split_1.cu
build /b/flash_fwd_split_2.o: nvcc /s/flash_fwd_split_2.cu

build /b/x.so: link /b/api.o
default x.so
"""


def test_the_heaviest_files_come_first() -> None:
    order = [
        line.split()[1]
        for line in reordered(FILE, ["flash_fwd_split", "flash_bwd"]).splitlines()
        if line.startswith("build ")
    ]
    assert order == [
        "/b/flash_fwd_split_1.o:", "/b/flash_fwd_split_2.o:", "/b/flash_bwd_1.o:",
        "/b/flash_attn/api.o:", "/b/flash_fwd_1.o:", "/b/x.so:",
    ]  # fmt: skip
    assert sorted(reordered(FILE, ["bwd"]).splitlines()) == sorted(FILE.splitlines())


def test_steps_with_variables_of_their_own_stay_where_they_are() -> None:
    text = FILE.replace("_1.cu\n", "_1.cu\n  flags = -O3\n", 1)
    assert reordered(text, ["split"]) == text


@pytest.mark.skipif(os.name == "nt", reason="Windows finds no script under the name of a program")
def test_ninja_is_called_with_the_sorted_file(tmp_path: Path) -> None:
    real = tmp_path / "real/ninja"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\necho "$@"; cat build.ninja\n')
    real.chmod(0o755)
    host = fake_host(tmp_path, windows=False)
    (folder,) = ninja.start_first(["split"], tmp_path / "n", [real.parent], host)
    work = tmp_path / "work"
    work.mkdir()
    (work / "build.ninja").write_text(FILE)
    done = subprocess.run(
        [str(folder / "ninja"), "-v", "-j", "2"],
        cwd=work,
        capture_output=True,
        text=True,
        check=True,
    )
    said, _, content = done.stdout.partition("\n")
    assert said == "-v -j 2"
    assert content == reordered(FILE, ["split"]) != FILE
    assert ninja.start_first([], tmp_path / "m", [real.parent], host) == ()
